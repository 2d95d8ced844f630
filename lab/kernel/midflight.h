/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What goes between the driver of the guest and the process that has its links, and what that keeps as record
 * of all packets: entries one behind the other, in the order of time, little-endian. Instants are nanoseconds
 * from the start of the script.
 */
#ifndef MIDFLIGHT_H
#define MIDFLIGHT_H

#include <linux/types.h>

#define MF_MOST_HEADERS 120

enum mf_event {
	MF_SENT = 1,		/* by the device of a node */
	MF_DELIVERED = 2,	/* to the device of a node */
	MF_LOST_QUEUE = 3,	/* at a link: no room */
	MF_LOST_BREAK = 4,	/* at a link: it is down, or the node has left */
	MF_LOST_RADIO = 5,	/* at a link's far end */
	MF_LOST_ROUTE = 6,	/* at a node without a route */
	MF_LOST_EARLY = 7,	/* at a link: its queue's discipline has dropped it */
	MF_MARKED = 8,		/* at a link: its queue's discipline has marked it (ECN) */
};

struct mf_record {
	__u64 time_ns;
	__u32 packet;		/* its number, by which later records name it */
	__u16 place;		/* number of the node or link */
	__u8 event;
	__u8 words;		/* of 8 bytes that the record has in all */
	__u32 value;		/* sent: bytes of the packet, IP header included; delivered: the link */
	__s32 late_ns;		/* delivered: how much later than the link says */
};

/* Follows a sent packet: the sender's state after it has decided to send. The packet's IP and TCP
 * headers come behind. */
struct mf_state {
	__u8 is_there;		/* all else is 0 if not */
	__u8 ca_state;
	__u8 retransmits;
	__u8 backoff;
	__u32 timeouts;		/* of the connection so far; before Linux 6.7 since the last progress */
	__u32 cwnd;
	__u32 ssthresh;
	__u32 srtt_us;
	__u32 rttvar_us;
	__u32 rto_us;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 reordering;
	__u64 pacing_rate;	/* bytes per second */
	__u32 mss;
	__u32 snd_una;
};

/* The driver tells what was sent, as records, up to an instant. */
struct mf_told {
	__u64 now_ns;
	__u32 bytes;		/* of the records that follow */
	__u32 flags;
};

#define MF_TOLD_LAST 1u		/* the run is over */

/* It is answered when the links have something to do next, and what became of packets by now. */
struct mf_answer {
	__u64 next_ns;		/* the greatest number is never */
	__u32 fates;		/* that follow */
	__u32 unused;
};

struct mf_fate {
	__u32 packet;
	__u16 node;		/* where it is delivered */
	__u16 flags;
};

#define MF_FATE_LOST 1u
#define MF_FATE_MARKED 2u	/* it is delivered with "congestion experienced" */

#endif
