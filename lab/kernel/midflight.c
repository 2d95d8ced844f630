// SPDX-License-Identifier: GPL-2.0
/*
 * Scripted links between network devices, for midflight's lab.
 *
 * The driver holds a whole network: nodes, one-way links between them, routes, and a timeline of what
 * happens to them. A device belongs to a node. A packet that a device sends goes from link to link by
 * the routes of the nodes, and is received by the device of the node that its address names.
 *
 * A link is a drop-tail queue, a transmitter and a propagation delay; it is first in, first out. Its
 * rules are those of midflight's simulator (crates/sim/src/link.rs): a limit counts the packet in
 * transmission, a node that leaves a link takes at once what it has there, and losses are drawn from
 * the same random streams. Times are computed in picoseconds, so that rates that give no whole number
 * of nanoseconds add up exactly.
 *
 * /dev/midflight takes the script, a command in each line, and gives the record of all packets.
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
#include <linux/vmalloc.h>
#include <net/gso.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "midflight.h"

#define MF_NODES 256
#define MF_LINKS 512
#define MF_MOST_TEXT 65536
#define MF_CHUNK_ORDER 6
#define MF_CHUNK_BYTES (PAGE_SIZE << MF_CHUNK_ORDER)
#define MF_NEVER U64_MAX
#define MF_NO_LINK 0xffff

/* What travels with a packet, in its control block. */
struct mf_cb {
	u32 packet;
	u16 source;
	u16 target;
};

#define MF_CB(skb) ((struct mf_cb *)(skb)->cb)

/* A packet in the memory of the host that gets it. */
#define MF_BUFFER 2048
#define MF_HEADROOM 64

/* A packet on a link. Without a buffer it is traffic of others. */
struct mf_transit {
	struct sk_buff *skb;
	u64 start;		/* of its transmission; of a late one, when it was found to be late */
	u64 by;			/* when that start was known: the one before it began */
	u64 arrive;		/* at the far end */
	u32 bytes;
};

/* A queue of them in one array, whose size is a power of two. */
struct mf_ring {
	struct mf_transit *at;
	u32 size;
	u32 head;
	u32 length;
};

/* xoshiro256++ (Blackman and Vigna 2021). */
struct mf_stream {
	u64 s[4];
};

enum mf_loss_kind { MF_LOSS_NONE, MF_LOSS_UNIFORM, MF_LOSS_BURST, MF_LOSS_GILBERT };

/* What a link does to packets at its far end, from one of its changes to the next. */
struct mf_impairment {
	struct mf_impairment *next;
	u32 tenure;
	enum mf_loss_kind kind;
	u64 chance;		/* of a loss or the start of a burst, in 2^-64 */
	u32 length;		/* of a burst */
	u32 left;
	u64 dwell[2];
	u64 chances[2];
	u64 flip;
	u64 until;
	u32 state;
	struct mf_stream draws;
	struct mf_stream states;
	bool delays;		/* the link layer sends some packets again */
	u64 late_chance;
	u64 late_by;
	struct mf_stream lates;
};

struct mf_link {
	bool used;
	u16 from;
	u16 to;
	u64 rate;
	u64 delay;
	u32 limit;		/* the packet in transmission included; 0: none */
	bool down;
	bool paused;
	u64 free_at;
	u64 newest;		/* start of the transmission that was accepted last */
	u64 crossed;		/* when the last packet of others came */
	struct mf_ring ring;
	struct mf_ring held;	/* while paused, in the order in which it will be sent */
	u32 waiting;		/* how many of those had not gone out before the pause */
	struct mf_ring late;
	u32 tenure;
	struct mf_impairment *impairments;
	struct mf_impairment *impairment;
};

enum mf_what { MF_ROUTE, MF_DOWN, MF_UP, MF_PURGE, MF_PAUSE, MF_RESUME, MF_CHANGE, MF_CROSS };

struct mf_action {
	u64 at;
	enum mf_what what;
	u16 link;
	u16 node;
	u16 target;
	bool sets;
	u64 rate;
	u64 delay;
	u32 limit;
	u32 bytes;
};

struct mf_chunk {
	struct mf_chunk *next;
	u32 length;
	u8 data[];
};

static struct {
	spinlock_t lock;
	struct hrtimer timer;
	bool started;
	u64 origin;		/* ns of the monotonic clock at which the script begins */
	u32 nodes;
	u16 routes[MF_NODES][MF_NODES];
	struct net_device *devices[MF_NODES];
	struct mf_link links[MF_LINKS];
	u32 link_count;
	struct mf_action *actions;
	u32 action_count;
	u32 action_room;
	u32 action_next;
	u32 packets;
	struct mf_chunk *first;
	struct mf_chunk *last;
	u64 lost_records;
} mf;

/* --- the record ------------------------------------------------------------------------------ */

static void *mf_reserve(size_t bytes)
{
	struct mf_chunk *chunk = mf.last;
	void *place;

	if (!chunk || chunk->length + bytes > MF_CHUNK_BYTES - sizeof(*chunk)) {
		chunk = (void *)__get_free_pages(GFP_ATOMIC | __GFP_NOWARN, MF_CHUNK_ORDER);
		if (!chunk) {
			mf.lost_records++;
			return NULL;
		}
		chunk->next = NULL;
		chunk->length = 0;
		if (mf.last)
			mf.last->next = chunk;
		else
			mf.first = chunk;
		mf.last = chunk;
	}
	place = chunk->data + chunk->length;
	chunk->length += bytes;
	return place;
}

static struct mf_record *mf_note(u64 now, u32 packet, u16 place, u8 event, u32 value, size_t more)
{
	size_t bytes = ALIGN(sizeof(struct mf_record) + more, 8);
	struct mf_record *record = mf_reserve(bytes);

	if (!record)
		return NULL;
	record->time_ns = now;
	record->packet = packet;
	record->place = place;
	record->event = event;
	record->words = bytes / 8;
	record->value = value;
	record->late_ns = 0;
	return record;
}

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

static void mf_note_sent(u64 now, u16 node, struct sk_buff *skb, const struct mf_state *state)
{
	u8 headers[MF_MOST_HEADERS];
	u32 length = min_t(u32, skb->len, sizeof(headers));
	struct mf_record *record;
	u32 all;

	if (skb_copy_bits(skb, 0, headers, length))
		length = 0;
	/* IPv4 and TCP say how long they are. */
	all = length >= 20 ? (headers[0] & 15) * 4 : 0;
	if (all && length >= all + 20 && headers[9] == IPPROTO_TCP)
		all += (headers[all + 12] >> 4) * 4;
	length = min(length, all);
	record = mf_note(now, MF_CB(skb)->packet, node, MF_SENT, skb->len,
			 sizeof(*state) + length);
	if (!record)
		return;
	memcpy(record + 1, state, sizeof(*state));
	memset((u8 *)(record + 1) + sizeof(*state), 0,
	       record->words * 8 - sizeof(*record) - sizeof(*state));
	memcpy((u8 *)(record + 1) + sizeof(*state), headers, length);
}

/* --- queues ---------------------------------------------------------------------------------- */

static struct mf_transit *mf_of(const struct mf_ring *ring, u32 number)
{
	return &ring->at[(ring->head + number) & (ring->size - 1)];
}

static bool mf_push(struct mf_ring *ring, const struct mf_transit *transit)
{
	if (ring->length == ring->size) {
		u32 size = ring->size ? 2 * ring->size : 64, i;
		struct mf_transit *at = kmalloc_array(size, sizeof(*at), GFP_ATOMIC);

		if (!at)
			return false;
		for (i = 0; i < ring->length; i++)
			at[i] = *mf_of(ring, i);
		kfree(ring->at);
		ring->at = at;
		ring->size = size;
		ring->head = 0;
	}
	ring->length++;
	*mf_of(ring, ring->length - 1) = *transit;
	return true;
}

static struct mf_transit mf_pop(struct mf_ring *ring)
{
	struct mf_transit transit = *mf_of(ring, 0);

	ring->head = (ring->head + 1) & (ring->size - 1);
	ring->length--;
	return transit;
}

/* --- chance ---------------------------------------------------------------------------------- */

static u64 mf_rotate(u64 x, int by)
{
	return (x << by) | (x >> (64 - by));
}

static u64 mf_draw(struct mf_stream *stream)
{
	u64 *s = stream->s;
	u64 drawn = mf_rotate(s[0] + s[3], 23) + s[0];
	u64 t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = mf_rotate(s[3], 45);
	return drawn;
}

/* Of 64 random bits against a whole number, of which the greatest stands for certainty. */
static bool mf_happens(u64 chance, struct mf_stream *stream)
{
	u64 drawn = mf_draw(stream);

	return drawn < chance || chance == U64_MAX;
}

static bool mf_is_lost(struct mf_impairment *of, u64 now)
{
	bool starts, lost;

	switch (of->kind) {
	case MF_LOSS_UNIFORM:
		return mf_happens(of->chance, &of->draws);
	case MF_LOSS_BURST:
		starts = mf_happens(of->chance, &of->draws);
		if (!of->left && starts)
			of->left = of->length;
		lost = of->left > 0;
		of->left -= lost;
		return lost;
	case MF_LOSS_GILBERT:
		while (of->until <= now) {
			of->state ^= mf_happens(of->flip, &of->states);
			of->until += of->dwell[of->state];
		}
		return mf_happens(of->chances[of->state], &of->draws);
	default:
		return false;
	}
}

static void mf_begin_tenure(struct mf_link *link, u64 now)
{
	struct mf_impairment *of;

	for (of = link->impairments; of && of->tenure != link->tenure; of = of->next)
		;
	link->impairment = of;
	if (of)
		of->until = now + of->dwell[0];
}

/* --- links ----------------------------------------------------------------------------------- */

/* The nanosecond that an instant in picoseconds rounds to. */
static u64 mf_ns(u64 at)
{
	return (at + 500) / 1000;
}

static void mf_lose(u64 now, u16 link, struct sk_buff *skb, u8 event)
{
	if (!skb)
		return;
	mf_note(mf_ns(now), MF_CB(skb)->packet, link, event, 0, 0);
	dev_kfree_skb_any(skb);
}

/* As many packets wait as may, while one is in transmission. One that begins at this very instant has
 * begun unless that was decided after it was decided, at `known`, that this packet comes now. */
static bool mf_is_full(const struct mf_link *link, u64 now, u64 known)
{
	const struct mf_transit *oldest;
	u32 room = link->limit - 1;

	if (!link->limit || link->ring.length < room)
		return false;
	if (!room)
		return true;
	oldest = mf_of(&link->ring, link->ring.length - room);
	return oldest->start > now || (oldest->start == now && oldest->by > known);
}

static u64 mf_transmission(const struct mf_link *link, u32 bytes)
{
	u64 bits = 8ULL * bytes * 1000000000000ULL;

	return (bits + link->rate / 2) / link->rate;
}

/* Takes a packet; false if the queue has no room. `forced` had room before. */
static bool mf_offer(struct mf_link *link, u64 now, struct sk_buff *skb, u32 bytes, u64 known,
		     bool forced)
{
	struct mf_transit transit = { .skb = skb, .bytes = bytes, .start = now, .by = known };
	u64 sent;

	if (link->free_at > now) {
		if (!forced && mf_is_full(link, now, known))
			return false;
		transit.start = link->free_at;
		transit.by = link->newest;
	}
	sent = transit.start + mf_transmission(link, bytes);
	transit.arrive = sent + link->delay;
	/* After a change to less delay: nothing overtakes. */
	if (link->ring.length) {
		u64 last = mf_of(&link->ring, link->ring.length - 1)->arrive;

		transit.arrive = max(transit.arrive, last + 1000);
	}
	if (!mf_push(&link->ring, &transit))
		return false;
	link->free_at = sent;
	link->newest = transit.start;
	return true;
}

static void mf_enter(u16 number, u64 now, struct sk_buff *skb, u32 bytes, u64 known)
{
	struct mf_link *link = &mf.links[number];

	if (link->down) {
		mf_lose(now, number, skb, MF_LOST_BREAK);
		return;
	}
	if (link->paused) {
		struct mf_transit transit = { .skb = skb, .bytes = bytes };

		if ((link->limit && link->waiting >= link->limit) || !mf_push(&link->held, &transit)) {
			mf_lose(now, number, skb, MF_LOST_QUEUE);
			return;
		}
		link->waiting++;
		return;
	}
	if (!mf_offer(link, now, skb, bytes, known, false))
		mf_lose(now, number, skb, MF_LOST_QUEUE);
}

/* A packet is at a node, over a link or sent by it: it goes on, or is received. It was known at `known`
 * that it would be: of one that the node sends, always. */
static void mf_arrive(u16 node, u16 over, u64 now, struct sk_buff *skb, u64 known)
{
	struct net_device *device = mf.devices[node];
	u32 packet = MF_CB(skb)->packet;
	struct mf_record *record;
	u16 link;

	if (MF_CB(skb)->target != node) {
		link = mf.routes[node][MF_CB(skb)->target];
		if (link == MF_NO_LINK)
			mf_lose(now, node, skb, MF_LOST_ROUTE);
		else
			mf_enter(link, now, skb, skb->len, known);
		return;
	}
	if (!device) {
		mf_lose(now, node, skb, MF_LOST_ROUTE);
		return;
	}
	record = mf_note(mf_ns(now), packet, node, MF_DELIVERED, over, 0);
	if (record)
		record->late_ns = (s32)(ktime_get_ns() - mf.origin - mf_ns(now));
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
	netif_rx(skb);
}

/* The packet that is next at the far end of a link. */
static void mf_far_end(u16 number)
{
	struct mf_link *link = &mf.links[number];
	struct mf_transit transit = mf_pop(&link->ring);
	struct mf_impairment *of = link->impairment;
	bool lost, late;

	if (!transit.skb)
		return;
	if (of) {
		/* All draws first, so that what is said of one packet shifts nothing for the next. The
		 * state of a loss model goes by the nanosecond. */
		lost = mf_is_lost(of, mf_ns(transit.arrive) * 1000);
		late = of->delays && mf_happens(of->late_chance, &of->lates);
		if (lost) {
			mf_lose(transit.arrive, number, transit.skb, MF_LOST_RADIO);
			return;
		}
		if (late) {
			transit.start = transit.arrive;
			transit.arrive += of->late_by;
			if (!mf_push(&link->late, &transit))
				mf_lose(transit.arrive, number, transit.skb, MF_LOST_RADIO);
			return;
		}
	}
	mf_arrive(link->to, number, transit.arrive, transit.skb, transit.start);
}

/* --- the timeline ---------------------------------------------------------------------------- */

static void mf_set(struct mf_link *link, const struct mf_action *action, u64 now)
{
	link->rate = action->rate;
	link->delay = action->delay;
	link->limit = action->limit;
	link->tenure++;
	mf_begin_tenure(link, now);
}

/* How many packets have begun their transmission. One that would begin now has not. */
static u32 mf_begun(const struct mf_link *link, u64 now)
{
	u32 begun = 0;

	while (begun < link->ring.length && mf_of(&link->ring, begun)->start < now)
		begun++;
	return begun;
}

/* Takes the packets behind the first `begun` off, to queue them anew by what holds now. */
static void mf_send_anew(struct mf_link *link, u64 now, u32 begun)
{
	u32 left = link->ring.length - begun, i;
	struct mf_transit *waiting;

	if (!left)
		return;
	waiting = kmalloc_array(left, sizeof(*waiting), GFP_ATOMIC);
	if (!waiting)
		return;
	for (i = 0; i < left; i++)
		waiting[i] = *mf_of(&link->ring, begun + i);
	link->ring.length = begun;
	for (i = 0; i < left; i++)
		mf_offer(link, now, waiting[i].skb, waiting[i].bytes, waiting[i].by, true);
	kfree(waiting);
}

/* The transmitter is as it was before the packets behind the first `begun` came. */
static void mf_wait_from(struct mf_link *link, u32 begun)
{
	if (begun >= link->ring.length)
		return;
	link->free_at = mf_of(&link->ring, begun)->start;
	link->newest = mf_of(&link->ring, begun)->by;
}

static void mf_change(struct mf_link *link, const struct mf_action *action)
{
	u32 begun = mf_begun(link, action->at);

	if (link->paused)
		return;
	mf_wait_from(link, begun);
	mf_set(link, action, action->at);
	mf_send_anew(link, action->at, begun);
}

/* What comes next. */
struct mf_due {
	u64 at;
	u64 known;		/* of what is due at one instant, what was known first comes first */
	u32 place;		/* a link, or MF_LINKS for the timeline */
	bool is_late;
};

static void mf_look(struct mf_due *next, const struct mf_ring *ring, u32 place, bool is_late)
{
	const struct mf_transit *first;

	if (!ring->length)
		return;
	first = mf_of(ring, 0);
	if (first->arrive > next->at || (first->arrive == next->at && first->start >= next->known))
		return;
	*next = (struct mf_due){ first->arrive, first->start, place, is_late };
}

static void mf_pause(struct mf_link *link, u64 now)
{
	if (link->paused)
		return;
	link->waiting = link->ring.length - mf_begun(link, now);
	while (link->ring.length || link->late.length) {
		struct mf_due next = { MF_NEVER, MF_NEVER, 0, false };
		struct mf_transit transit;

		mf_look(&next, &link->ring, 0, false);
		mf_look(&next, &link->late, 0, true);
		transit = mf_pop(next.is_late ? &link->late : &link->ring);

		mf_push(&link->held, &transit);
	}
	link->paused = true;
}

static void mf_resume(u16 number, const struct mf_action *action)
{
	struct mf_link *link = &mf.links[number];

	if (!link->paused)
		return;
	link->paused = false;
	if (action->sets)
		mf_set(link, action, action->at);
	link->free_at = action->at;
	while (link->held.length) {
		struct mf_transit transit = mf_pop(&link->held);

		if (link->down || !mf_offer(link, action->at, transit.skb, transit.bytes, 0, true))
			mf_lose(action->at, number, transit.skb, MF_LOST_BREAK);
	}
}

static bool mf_is_of(const struct sk_buff *skb, u16 node)
{
	return skb && (MF_CB(skb)->source == node || MF_CB(skb)->target == node);
}

/* Loses the packets of a node in a queue; whether the last of the first `begun` was among them. */
static bool mf_purge_ring(struct mf_ring *ring, u64 now, u16 number, u16 node, u32 *begun)
{
	u32 all = ring->length, kept = 0, gone_first = 0, i;
	bool cut_short = false;

	for (i = 0; i < all; i++) {
		struct mf_transit transit = *mf_of(ring, i);

		if (mf_is_of(transit.skb, node)) {
			mf_lose(now, number, transit.skb, MF_LOST_BREAK);
			gone_first += i < *begun;
			cut_short |= i + 1 == *begun;
		} else {
			*mf_of(ring, kept++) = transit;
		}
	}
	ring->length = kept;
	*begun -= gone_first;
	return cut_short;
}

/* A node leaves the link: what it has there, and what is there for it, is lost at once. The rest
 * moves up, and a transmission that is cut short leaves the transmitter free. */
static void mf_purge(u16 number, u64 now, u16 node)
{
	struct mf_link *link = &mf.links[number];
	u32 begun = mf_begun(link, now), sent, none = 0;
	bool none_begun = !begun, cut_short;

	mf_purge_ring(&link->late, now, number, node, &none);
	sent = link->held.length - min(link->waiting, link->held.length);
	mf_purge_ring(&link->held, now, number, node, &sent);
	link->waiting = link->held.length - sent;
	mf_wait_from(link, begun);
	cut_short = mf_purge_ring(&link->ring, now, number, node, &begun);
	if (cut_short || none_begun)
		link->free_at = min(link->free_at, now);
	mf_send_anew(link, now, begun);
}

static void mf_act(const struct mf_action *action)
{
	struct mf_link *link = &mf.links[action->link];

	switch (action->what) {
	case MF_ROUTE:
		mf.routes[action->node][action->target] = action->link;
		break;
	case MF_DOWN:
		link->down = true;
		break;
	case MF_UP:
		link->down = false;
		break;
	case MF_PURGE:
		mf_purge(action->link, action->at, action->node);
		break;
	case MF_PAUSE:
		mf_pause(link, action->at);
		break;
	case MF_RESUME:
		mf_resume(action->link, action);
		break;
	case MF_CHANGE:
		mf_change(link, action);
		break;
	case MF_CROSS:
		mf_enter(action->link, action->at, NULL, action->bytes, link->crossed);
		link->crossed = action->at;
		break;
	}
}

/* The timeline comes first of its instant, but for packets of others. */
static struct mf_due mf_next(void)
{
	struct mf_due next = { MF_NEVER, 0, MF_LINKS, false };
	u32 i;

	if (mf.action_next < mf.action_count) {
		const struct mf_action *action = &mf.actions[mf.action_next];

		next.at = action->at;
		if (action->what == MF_CROSS)
			next.known = mf.links[action->link].crossed;
	}
	for (i = 0; i < mf.link_count; i++) {
		mf_look(&next, &mf.links[i].ring, i, false);
		mf_look(&next, &mf.links[i].late, i, true);
	}
	return next;
}

/* Does everything that is due, and sets the timer to what comes next. */
static void mf_advance(void)
{
	u64 clock = ktime_get_ns(), now, wake;
	struct mf_due due;

	if (clock < mf.origin) {
		hrtimer_start(&mf.timer, ns_to_ktime(mf.origin), HRTIMER_MODE_ABS_PINNED_HARD);
		return;
	}
	now = clock - mf.origin;
	for (;;) {
		due = mf_next();
		if (due.at == MF_NEVER)
			return;
		if (mf_ns(due.at) > now)
			break;
		if (due.place == MF_LINKS) {
			mf_act(&mf.actions[mf.action_next++]);
		} else if (due.is_late) {
			struct mf_transit transit = mf_pop(&mf.links[due.place].late);

			mf_arrive(mf.links[due.place].to, due.place, transit.arrive, transit.skb,
				  transit.start);
		} else {
			mf_far_end(due.place);
		}
	}
	wake = mf.origin + mf_ns(due.at);
	hrtimer_start(&mf.timer, ns_to_ktime(wake), HRTIMER_MODE_ABS_PINNED_HARD);
}

static enum hrtimer_restart mf_timer(struct hrtimer *timer)
{
	unsigned long flags;

	spin_lock_irqsave(&mf.lock, flags);
	mf_advance();
	spin_unlock_irqrestore(&mf.lock, flags);
	return HRTIMER_NORESTART;
}

/* --- devices --------------------------------------------------------------------------------- */

struct mf_device {
	u16 node;
};

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

static void mf_send(struct sk_buff *original, u16 node, const struct mf_state *state)
{
	u64 now = ktime_get_ns() - mf.origin;
	struct sk_buff *skb = mf_copy(original);
	const struct iphdr *ip;

	dev_consume_skb_any(original);
	if (!skb)
		return;

	if (!pskb_may_pull(skb, sizeof(*ip)) || !mf.started || ktime_get_ns() < mf.origin) {
		dev_kfree_skb_any(skb);
		return;
	}
	ip = (const struct iphdr *)skb->data;
	if (ip->version != 4) {
		dev_kfree_skb_any(skb);
		return;
	}
	MF_CB(skb)->packet = mf.packets++;
	MF_CB(skb)->source = node;
	MF_CB(skb)->target = min_t(u32, (ntohl(ip->daddr) & 0xffff) - 1, MF_NODES - 1);
	mf_note_sent(now, node, skb, state);
	mf_arrive(node, MF_NO_LINK, now * 1000, skb, 0);
}

static netdev_tx_t mf_xmit(struct sk_buff *skb, struct net_device *device)
{
	u16 node = ((struct mf_device *)netdev_priv(device))->node;
	struct sk_buff *segments, *next;
	struct mf_state state;
	unsigned long flags;

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
	skb_list_walk_safe(segments, skb, next) {
		skb_mark_not_on_list(skb);
		mf_send(skb, node, &state);
	}
	if (mf.started)
		mf_advance();
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

/* The device of a node, in the network namespace of who asks for it. */
static int mf_add_device(u32 node)
{
	struct net_device *device;
	int error;

	if (node >= mf.nodes || mf.devices[node])
		return -EINVAL;
	device = alloc_netdev(sizeof(struct mf_device), "mf%d", NET_NAME_PREDICTABLE, mf_setup);
	if (!device)
		return -ENOMEM;
	dev_net_set(device, current->nsproxy->net_ns);
	((struct mf_device *)netdev_priv(device))->node = node;
	error = register_netdev(device);
	if (error) {
		free_netdev(device);
		return error;
	}
	mf.devices[node] = device;
	return 0;
}

/* --- the script ------------------------------------------------------------------------------ */

static bool mf_is_link(u32 link)
{
	return link < MF_LINKS && mf.links[link].used;
}

static int mf_add_link(const char *line)
{
	u32 number, from, to, limit;
	u64 rate, delay;
	struct mf_link *link;

	if (sscanf(line, "link %u %u %u %llu %llu %u", &number, &from, &to, &rate, &delay, &limit) != 6)
		return -EINVAL;
	if (number >= MF_LINKS || from >= mf.nodes || to >= mf.nodes || !rate)
		return -EINVAL;
	link = &mf.links[number];
	link->used = true;
	link->from = from;
	link->to = to;
	link->rate = rate;
	link->delay = delay * 1000;
	link->limit = limit;
	mf.link_count = max(mf.link_count, number + 1);
	return 0;
}

static struct mf_impairment *mf_impairment_of(u32 number, u32 tenure)
{
	struct mf_impairment *of;
	struct mf_link *link;

	if (!mf_is_link(number))
		return NULL;
	link = &mf.links[number];
	for (of = link->impairments; of && of->tenure != tenure; of = of->next)
		;
	if (!of) {
		of = kzalloc(sizeof(*of), GFP_KERNEL);
		if (of) {
			of->tenure = tenure;
			of->next = link->impairments;
			link->impairments = of;
		}
	}
	return of;
}

static int mf_add_loss(const char *line)
{
	struct mf_impairment found = {}, *of;
	u32 link, tenure;
	u64 *s = found.draws.s, *t = found.states.s;

	if (sscanf(line, "loss %u %u uniform %llx %llx %llx %llx %llx", &link, &tenure,
		   &found.chance, s, s + 1, s + 2, s + 3) == 7)
		found.kind = MF_LOSS_UNIFORM;
	else if (sscanf(line, "loss %u %u burst %llx %u %llx %llx %llx %llx", &link, &tenure,
			&found.chance, &found.length, s, s + 1, s + 2, s + 3) == 8)
		found.kind = MF_LOSS_BURST;
	else if (sscanf(line,
			"loss %u %u gilbert %llu %llu %llx %llx %llx %llx %llx %llx %llx %llx %llx %llx %llx",
			&link, &tenure, found.dwell, found.dwell + 1, found.chances,
			found.chances + 1, &found.flip, s, s + 1, s + 2, s + 3, t, t + 1, t + 2,
			t + 3) == 15)
		found.kind = MF_LOSS_GILBERT;
	else
		return -EINVAL;
	of = mf_impairment_of(link, tenure);
	if (!of || of->kind != MF_LOSS_NONE)
		return -EINVAL;
	of->kind = found.kind;
	of->chance = found.chance;
	of->length = found.length;
	of->dwell[0] = found.dwell[0] * 1000;
	of->dwell[1] = found.dwell[1] * 1000;
	of->chances[0] = found.chances[0];
	of->chances[1] = found.chances[1];
	of->flip = found.flip;
	of->draws = found.draws;
	of->states = found.states;
	return 0;
}

static int mf_add_late(const char *line)
{
	struct mf_impairment *of;
	struct mf_stream stream;
	u64 chance, by, *s = stream.s;
	u32 link, tenure;

	if (sscanf(line, "late %u %u %llx %llu %llx %llx %llx %llx", &link, &tenure, &chance, &by, s,
		   s + 1, s + 2, s + 3) != 8)
		return -EINVAL;
	of = mf_impairment_of(link, tenure);
	if (!of)
		return -EINVAL;
	of->delays = true;
	of->late_chance = chance;
	of->late_by = by * 1000;
	of->lates = stream;
	return 0;
}

static bool mf_read_setting(const char *line, const char *form, struct mf_action *action, u32 *link)
{
	u64 delay;

	if (sscanf(line, form, &action->at, link, &action->rate, &delay, &action->limit) != 5)
		return false;
	action->delay = delay * 1000;
	action->sets = true;
	return action->rate > 0;
}

static int mf_add_action(const char *line)
{
	struct mf_action action = {};
	u32 link = 0, node = 0, target = 0;
	int end = 0;

	if (sscanf(line, "at %llu route %u %u %u", &action.at, &node, &target, &link) == 4) {
		action.what = MF_ROUTE;
	} else if (sscanf(line, "at %llu purge %u %u", &action.at, &link, &node) == 3) {
		action.what = MF_PURGE;
	} else if (sscanf(line, "at %llu cross %u %u", &action.at, &link, &action.bytes) == 3) {
		action.what = MF_CROSS;
	} else if (mf_read_setting(line, "at %llu change %u %llu %llu %u", &action, &link)) {
		action.what = MF_CHANGE;
	} else if (mf_read_setting(line, "at %llu resume %u %llu %llu %u", &action, &link)) {
		action.what = MF_RESUME;
	} else if (sscanf(line, "at %llu resume %u%n", &action.at, &link, &end) == 2 && !line[end]) {
		action.what = MF_RESUME;
	} else if (sscanf(line, "at %llu pause %u", &action.at, &link) == 2) {
		action.what = MF_PAUSE;
	} else if (sscanf(line, "at %llu down %u", &action.at, &link) == 2) {
		action.what = MF_DOWN;
	} else if (sscanf(line, "at %llu up %u", &action.at, &link) == 2) {
		action.what = MF_UP;
	} else {
		return -EINVAL;
	}
	if (!mf_is_link(link) || node >= mf.nodes || target >= mf.nodes)
		return -EINVAL;
	if (mf.action_count && mf.actions[mf.action_count - 1].at > action.at * 1000)
		return -EINVAL;
	if (mf.action_count == mf.action_room) {
		u32 room = mf.action_room ? 2 * mf.action_room : 64;
		struct mf_action *actions = vmalloc(array_size(room, sizeof(action)));

		if (!actions)
			return -ENOMEM;
		memcpy(actions, mf.actions, mf.action_count * sizeof(action));
		vfree(mf.actions);
		mf.actions = actions;
		mf.action_room = room;
	}
	action.at *= 1000;
	action.link = link;
	action.node = node;
	action.target = target;
	mf.actions[mf.action_count++] = action;
	return 0;
}

static int mf_start(u64 origin)
{
	unsigned long flags;
	u32 i;

	if (mf.started || origin <= ktime_get_ns())
		return -EINVAL;
	spin_lock_irqsave(&mf.lock, flags);
	mf.origin = origin;
	mf.started = true;
	for (i = 0; i < mf.link_count; i++)
		mf_begin_tenure(&mf.links[i], 0);
	/* Nothing is due before the origin. */
	hrtimer_start(&mf.timer, ns_to_ktime(origin), HRTIMER_MODE_ABS_PINNED_HARD);
	spin_unlock_irqrestore(&mf.lock, flags);
	return 0;
}

static int mf_command(const char *line)
{
	u32 node, target, link;
	u64 origin;

	if (mf.started)
		return -EBUSY;
	if (sscanf(line, "nodes %u", &node) == 1) {
		if (mf.nodes || !node || node > MF_NODES)
			return -EINVAL;
		mf.nodes = node;
		return 0;
	}
	if (sscanf(line, "route %u %u %u", &node, &target, &link) == 3) {
		if (node >= mf.nodes || target >= mf.nodes || !mf_is_link(link))
			return -EINVAL;
		mf.routes[node][target] = link;
		return 0;
	}
	if (sscanf(line, "device %u", &node) == 1)
		return mf_add_device(node);
	if (sscanf(line, "start %llu", &origin) == 1)
		return mf_start(origin);
	if (!strncmp(line, "link ", 5))
		return mf_add_link(line);
	if (!strncmp(line, "loss ", 5))
		return mf_add_loss(line);
	if (!strncmp(line, "late ", 5))
		return mf_add_late(line);
	if (!strncmp(line, "at ", 3))
		return mf_add_action(line);
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

/* The record from its start; each reader has its own place. */
static ssize_t mf_read(struct file *file, char __user *to, size_t length, loff_t *offset)
{
	struct mf_chunk *chunk;
	u64 skip = *offset;
	size_t done = 0;

	if (mf.lost_records)
		return -ENOMEM;
	for (chunk = mf.first; chunk && done < length; chunk = chunk->next) {
		size_t part;

		if (skip >= chunk->length) {
			skip -= chunk->length;
			continue;
		}
		part = min_t(size_t, chunk->length - skip, length - done);
		if (copy_to_user(to + done, chunk->data + skip, part))
			return -EFAULT;
		done += part;
		skip = 0;
	}
	*offset += done;
	return done;
}

static const struct file_operations mf_file_ops = {
	.owner = THIS_MODULE,
	.read = mf_read,
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
	BUILD_BUG_ON(sizeof(struct mf_cb) > sizeof_field(struct sk_buff, cb));
	spin_lock_init(&mf.lock);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&mf.timer, mf_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
#else
	hrtimer_init(&mf.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	mf.timer.function = mf_timer;
#endif
	memset(mf.routes, 0xff, sizeof(mf.routes));
	return misc_register(&mf_file);
}
device_initcall(mf_init);
