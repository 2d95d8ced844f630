// SPDX-License-Identifier: GPL-2.0
/*
 * Network devices whose links are in another process, for midflight's lab.
 *
 * A device belongs to a node of midflight's network. What it sends is told to the process that has the
 * links, which are the simulator's own (crates/sim), and what they deliver is received by the device of
 * the node at the far end. Packets stay here; of each the process gets its headers, its length and the
 * state of the connection that sent it.
 *
 * Virtual time stands still during an exchange with the process: it takes none. An answer says when
 * something is due next. What is sent until then may change that, but no packet is anywhere earlier than
 * the shortest way between two devices takes: so what has been sent is told at that instant, and not at once.
 *
 * /dev/midflight takes the script, a command in each line. The process is at the other end of the standard
 * input of the guest (midflight.h).
 */
#include <linux/etherdevice.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/xarray.h>
#include <net/gso.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>
#include <os.h>

#include "midflight.h"

#define MF_NODES 256
#define MF_MOST_TEXT 65536
#define MF_NEVER U64_MAX
/* Of what has been sent and is not told yet, and of what is read at once. */
#define MF_TOLD_BYTES 65536
#define MF_FATES 1024

/* A packet in the memory of the host that gets it. */
#define MF_BUFFER 2048
#define MF_HEADROOM 64

static struct {
	spinlock_t lock;
	struct hrtimer timer;
	bool started;
	bool ended;
	int error;		/* of the exchange with the process */
	u64 origin;		/* ns of the monotonic clock at which the script begins */
	u64 shortest;		/* ns that a packet takes from one device to another at least */
	u64 wake;		/* when the next exchange is, from the origin */
	u32 nodes;
	struct net_device *devices[MF_NODES];
	struct xarray packets;	/* under way, by their numbers */
	u32 count;
	u32 told;		/* bytes in the buffer */
	u8 *buffer;
	struct mf_fate *fates;
} mf;

/* --- what is told ---------------------------------------------------------------------------- */

/* The state of a connection as it sends a packet. */
static void mf_note_state(struct mf_state *state, const struct sock *sk)
{
	const struct inet_connection_sock *icsk;
	const struct tcp_sock *tp;

	memset(state, 0, sizeof(*state));
	if (!sk || !sk_fullsock(sk) || sk->sk_protocol != IPPROTO_TCP || sk->sk_state == TCP_LISTEN)
		return;
	tp = tcp_sk(sk);
	icsk = inet_csk(sk);
	state->is_there = 1;
	state->ca_state = icsk->icsk_ca_state;
	state->retransmits = icsk->icsk_retransmits;
	state->backoff = icsk->icsk_backoff;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	state->timeouts = tp->total_rto;
#else
	state->timeouts = icsk->icsk_retransmits;
#endif
	state->cwnd = tcp_snd_cwnd(tp);
	state->ssthresh = tp->snd_ssthresh;
	state->srtt_us = tp->srtt_us >> 3;
	state->rttvar_us = tp->mdev_us >> 2;
	state->rto_us = jiffies_to_usecs(icsk->icsk_rto);
	state->packets_out = tp->packets_out;
	state->sacked_out = tp->sacked_out;
	state->lost_out = tp->lost_out;
	state->retrans_out = tp->retrans_out;
	state->reordering = tp->reordering;
	state->pacing_rate = sk->sk_pacing_rate;
	state->mss = tp->mss_cache;
	state->snd_una = tp->snd_una;
}

/* A packet's headers of IPv4 and of TCP or UDP, which say how long they are. */
static u32 mf_headers(const struct sk_buff *skb, u8 *headers)
{
	u32 length = min_t(u32, skb->len, MF_MOST_HEADERS), all;

	if (skb_copy_bits(skb, 0, headers, length))
		return 0;
	all = length >= 20 ? (headers[0] & 15) * 4 : 0;
	if (all && length >= all + 20 && headers[9] == IPPROTO_TCP)
		all += (headers[all + 12] >> 4) * 4;
	else if (all && headers[9] == IPPROTO_UDP)
		all += 8;
	return min(length, all);
}

static void mf_exchange(u64 now, u32 flags);

static void mf_note_sent(u64 now, u16 node, u32 packet, const struct sk_buff *skb,
			 const struct mf_state *state)
{
	u8 headers[MF_MOST_HEADERS];
	u32 length = mf_headers(skb, headers);
	u32 bytes = ALIGN(sizeof(struct mf_record) + sizeof(*state) + length, 8);
	struct mf_record *record;

	if (mf.told + bytes > MF_TOLD_BYTES)
		mf_exchange(now, 0);
	record = (struct mf_record *)(mf.buffer + mf.told);
	memset(record, 0, bytes);
	record->time_ns = now;
	record->packet = packet;
	record->place = node;
	record->event = MF_SENT;
	record->words = bytes / 8;
	record->value = skb->len;
	memcpy(record + 1, state, sizeof(*state));
	memcpy((u8 *)(record + 1) + sizeof(*state), headers, length);
	mf.told += bytes;
}

/* --- what the links do ----------------------------------------------------------------------- */

static void mf_receive(u16 node, struct sk_buff *skb, bool congestion)
{
	struct net_device *device = mf.devices[node];

	if (!device) {
		dev_kfree_skb_any(skb);
		return;
	}
	DEV_STATS_INC(device, rx_packets);
	DEV_STATS_ADD(device, rx_bytes, skb->len);
	skb->dev = device;
	skb_scrub_packet(skb, true);
	memset(skb->cb, 0, sizeof(skb->cb));
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb_clear_tstamp(skb);
	if (congestion)
		IP_ECN_set_ce(ip_hdr(skb));
	netif_rx(skb);
}

static int mf_put(const void *from, u32 bytes)
{
	while (bytes) {
		int done = os_write_file(0, from, bytes);

		if (done == -EINTR || done == -EAGAIN)
			continue;
		if (done <= 0)
			return done ? done : -EPIPE;
		from += done;
		bytes -= done;
	}
	return 0;
}

static int mf_get(void *to, u32 bytes)
{
	while (bytes) {
		int done = os_read_file(0, to, bytes);

		if (done == -EINTR || done == -EAGAIN)
			continue;
		if (done <= 0)
			return done ? done : -EPIPE;
		to += done;
		bytes -= done;
	}
	return 0;
}

static int mf_talk(u64 now, u32 flags)
{
	struct mf_told *told = (struct mf_told *)mf.buffer;
	struct mf_answer answer;
	int error;
	u32 i, left;

	*told = (struct mf_told){ .now_ns = now, .bytes = mf.told - sizeof(*told), .flags = flags };
	error = mf_put(told, mf.told);
	mf.told = sizeof(*told);
	if (!error)
		error = mf_get(&answer, sizeof(answer));
	for (left = error ? 0 : answer.fates; left; left -= i) {
		u32 many = min_t(u32, left, MF_FATES);

		error = mf_get(mf.fates, many * sizeof(*mf.fates));
		if (error)
			return error;
		for (i = 0; i < many; i++) {
			const struct mf_fate *fate = &mf.fates[i];
			struct sk_buff *skb = xa_erase(&mf.packets, fate->packet);

			if (!skb)
				return -EPROTO;
			if (fate->flags & MF_FATE_LOST)
				dev_kfree_skb_any(skb);
			else
				mf_receive(fate->node % MF_NODES, skb, fate->flags & MF_FATE_MARKED);
		}
	}
	if (!error)
		mf.wake = answer.next_ns;
	return error;
}

/* Tells what has been sent, and does what the links have done by now. */
static void mf_exchange(u64 now, u32 flags)
{
	if (mf.error)
		return;
	mf.error = mf_talk(now, flags);
	if (mf.error) {
		pr_err("error: the links of the guest have ended (%d)\n", mf.error);
		mf.wake = MF_NEVER;
	}
}

static void mf_set_timer(void)
{
	if (mf.wake != MF_NEVER && !mf.ended)
		hrtimer_start(&mf.timer, ns_to_ktime(mf.origin + mf.wake), HRTIMER_MODE_ABS_PINNED_HARD);
}

static enum hrtimer_restart mf_timer(struct hrtimer *timer)
{
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&mf.lock, flags);
	now = ktime_get_ns() - mf.origin;
	while (!mf.ended && mf.wake <= now)
		mf_exchange(now, 0);
	mf_set_timer();
	spin_unlock_irqrestore(&mf.lock, flags);
	return HRTIMER_NORESTART;
}

/* --- devices --------------------------------------------------------------------------------- */

struct mf_device {
	struct net_device *device;
	struct hrtimer timer;	/* of its transmitter */
	u64 rate;		/* of that; 0: it takes no time, and no packet waits */
	u64 free_at;		/* in picoseconds of the monotonic clock: it also sends before the origin */
	u16 node;
};

static struct mf_device *mf_of(const struct net_device *device)
{
	return netdev_priv(device);
}

static enum hrtimer_restart mf_is_free(struct hrtimer *timer)
{
	netif_wake_queue(container_of(timer, struct mf_device, timer)->device);
	return HRTIMER_NORESTART;
}

/* The transmitter of a device is busy with a packet; what waits is in the kernel's queue. */
static void mf_transmit(struct net_device *device, u64 clock, u32 bytes)
{
	struct mf_device *of = mf_of(device);
	u64 takes = div64_u64(8ULL * bytes * 1000000000000ULL + of->rate / 2, of->rate);

	of->free_at = max(of->free_at, clock * 1000) + takes;
	netif_stop_queue(device);
	hrtimer_start(&of->timer, ns_to_ktime((of->free_at + 500) / 1000), HRTIMER_MODE_ABS_PINNED_HARD);
}

/* What the host at the far end holds of a packet is its own: a linear buffer of half a page, or of as many as it needs, as
 * drivers of network cards have it. The sender's buffer is free at once, and its data are not shared.
 */
static struct sk_buff *mf_copy(struct sk_buff *skb)
{
	u32 room = MF_HEADROOM + skb->len + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	u32 size = roundup(SKB_DATA_ALIGN(room), MF_BUFFER);
	void *buffer = netdev_alloc_frag(size);
	struct sk_buff *copy;

	if (!buffer)
		return NULL;
	copy = build_skb(buffer, size);
	if (!copy) {
		skb_free_frag(buffer);
		return NULL;
	}
	skb_reserve(copy, MF_HEADROOM);
	if (skb_copy_bits(skb, 0, skb_put(copy, skb->len), skb->len)) {
		kfree_skb(copy);
		return NULL;
	}
	copy->ip_summed = skb->ip_summed;
	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		copy->csum_start = skb_headroom(copy) + skb_checksum_start_offset(skb);
		copy->csum_offset = skb->csum_offset;
	}
	return copy;
}

/* Whether the script runs at an instant from its origin on. */
static bool mf_runs(u64 now)
{
	return mf.started && !mf.ended && !mf.error && (s64)now >= 0;
}

static void mf_send(struct sk_buff *original, u16 node, u64 now, const struct mf_state *state)
{
	struct sk_buff *skb = mf_copy(original);
	u32 packet = mf.count;

	dev_consume_skb_any(original);
	if (!skb)
		return;
	if (!mf_runs(now) || !pskb_may_pull(skb, sizeof(struct iphdr)) || ((const struct iphdr *)skb->data)->version != 4 ||
	    xa_err(xa_store(&mf.packets, packet, skb, GFP_ATOMIC))) {
		dev_kfree_skb_any(skb);
		return;
	}
	mf.count++;
	mf_note_sent(now, node, packet, skb, state);
	mf.wake = min(mf.wake, now + mf.shortest);
}

static netdev_tx_t mf_xmit(struct sk_buff *skb, struct net_device *device)
{
	u16 node = mf_of(device)->node;
	struct sk_buff *segments, *next;
	struct mf_state state;
	unsigned long flags;
	u64 wake, clock, now;
	u32 bytes = skb->len;

	mf_note_state(&state, skb->sk);
	DEV_STATS_INC(device, tx_packets);
	DEV_STATS_ADD(device, tx_bytes, skb->len);
	segments = skb;
	if (skb_is_gso(skb)) {
		segments = skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM);
		if (IS_ERR_OR_NULL(segments)) {
			DEV_STATS_INC(device, tx_dropped);
			dev_kfree_skb_any(skb);
			return NETDEV_TX_OK;
		}
		consume_skb(skb);
	}
	spin_lock_irqsave(&mf.lock, flags);
	wake = mf.wake;
	clock = ktime_get_ns();
	now = clock - mf.origin;
	skb_list_walk_safe(segments, skb, next) {
		skb_mark_not_on_list(skb);
		mf_send(skb, node, now, &state);
	}
	while (mf_runs(now) && mf.wake <= now)
		mf_exchange(now, 0);
	if (mf.wake != wake)
		mf_set_timer();
	if (mf_of(device)->rate)
		mf_transmit(device, clock, bytes);
	spin_unlock_irqrestore(&mf.lock, flags);
	return NETDEV_TX_OK;
}

static const struct net_device_ops mf_device_ops = {
	.ndo_start_xmit = mf_xmit,
};

static void mf_setup(struct net_device *device)
{
	device->netdev_ops = &mf_device_ops;
	device->type = ARPHRD_NONE;
	device->flags = IFF_POINTOPOINT | IFF_NOARP;
	device->mtu = ETH_DATA_LEN;
	device->min_mtu = 68;
	device->max_mtu = ETH_DATA_LEN;
	device->priv_flags |= IFF_NO_QUEUE;
	device->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_TSO |
		NETIF_F_HIGHDMA;
	device->hw_features = device->features;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	device->lltx = true;
#else
	device->features |= NETIF_F_LLTX;
#endif
	device->needs_free_netdev = true;
}

static void mf_init_timer(struct hrtimer *timer, enum hrtimer_restart (*rings)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, rings, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer->function = rings;
#endif
}

/* The device of a node, in the network namespace of who asks for it. With a rate it has a transmitter, and the kernel's
 * queueing discipline before that.
 */
static int mf_add_device(u32 node, u64 rate)
{
	struct net_device *device;
	struct mf_device *of;
	int error;

	if (node >= mf.nodes || mf.devices[node])
		return -EINVAL;
	device = alloc_netdev(sizeof(struct mf_device), "mf%d", NET_NAME_PREDICTABLE, mf_setup);
	if (!device)
		return -ENOMEM;
	dev_net_set(device, current->nsproxy->net_ns);
	of = mf_of(device);
	of->device = device;
	of->node = node;
	of->rate = rate;
	mf_init_timer(&of->timer, mf_is_free);
	if (rate) {
		device->priv_flags &= ~IFF_NO_QUEUE;
		device->features &= ~NETIF_F_TSO;
		device->hw_features &= ~NETIF_F_TSO;
		device->tx_queue_len = DEFAULT_TX_QUEUE_LEN;
	}
	error = register_netdev(device);
	if (error) {
		free_netdev(device);
		return error;
	}
	mf.devices[node] = device;
	return 0;
}

/* --- the script ------------------------------------------------------------------------------ */

static int mf_start(u64 origin)
{
	unsigned long flags;

	if (mf.started || origin <= ktime_get_ns())
		return -EINVAL;
	spin_lock_irqsave(&mf.lock, flags);
	mf.origin = origin;
	mf.started = true;
	/* Nothing is due before the origin. */
	mf.wake = 0;
	mf_set_timer();
	spin_unlock_irqrestore(&mf.lock, flags);
	return 0;
}

/* The run is over: what was sent is told, and no more is sent. */
static int mf_end(void)
{
	unsigned long flags;
	int error;

	if (!mf.started || mf.ended)
		return -EINVAL;
	spin_lock_irqsave(&mf.lock, flags);
	mf_exchange(ktime_get_ns() - mf.origin, MF_TOLD_LAST);
	mf.ended = true;
	error = mf.error;
	spin_unlock_irqrestore(&mf.lock, flags);
	return error;
}

static int mf_command(const char *line)
{
	u64 instant, rate;
	u32 node;

	if (!strcmp(line, "end"))
		return mf_end();
	if (mf.started)
		return -EBUSY;
	if (sscanf(line, "nodes %u", &node) == 1) {
		if (mf.nodes || !node || node > MF_NODES)
			return -EINVAL;
		mf.nodes = node;
		return 0;
	}
	if (sscanf(line, "shortest %llu", &instant) == 1) {
		mf.shortest = instant;
		return 0;
	}
	rate = 0;
	if (sscanf(line, "device %u %llu", &node, &rate) >= 1)
		return mf_add_device(node, rate);
	if (sscanf(line, "start %llu", &instant) == 1)
		return mf_start(instant);
	return -EINVAL;
}

/* Takes whole lines; how many bytes it took. A line that it refuses ends that, and is the first of
 * the next write, which fails. */
static ssize_t mf_write(struct file *file, const char __user *from, size_t length, loff_t *offset)
{
	ssize_t done = 0;
	char *text, *line, *rest;
	int error = -EINVAL;

	if (!length || length > MF_MOST_TEXT)
		return -EINVAL;
	text = kzalloc(length + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	if (copy_from_user(text, from, length)) {
		kfree(text);
		return -EFAULT;
	}
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (*line) {
			error = mf_command(line);
			if (error)
				break;
		}
		done = rest ? rest - text : length;
	}
	kfree(text);
	return done ? done : error;
}

static const struct file_operations mf_file_ops = {
	.owner = THIS_MODULE,
	.write = mf_write,
};

static struct miscdevice mf_file = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "midflight",
	.fops = &mf_file_ops,
	.mode = 0600,
};

static int __init mf_init(void)
{
	spin_lock_init(&mf.lock);
	xa_init(&mf.packets);
	mf.wake = MF_NEVER;
	mf.told = sizeof(struct mf_told);
	mf.buffer = kmalloc(MF_TOLD_BYTES, GFP_KERNEL);
	mf.fates = kmalloc_array(MF_FATES, sizeof(*mf.fates), GFP_KERNEL);
	if (!mf.buffer || !mf.fates)
		return -ENOMEM;
	mf_init_timer(&mf.timer, mf_timer);
	return misc_register(&mf_file);
}
device_initcall(mf_init);
