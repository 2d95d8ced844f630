// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Flows whose sender is midflight's: a process with the interpreter and the compiled module of the host,
 * a packet socket and no address of the kernel's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

char paths[3][4096];

int has_paths(void)
{
	return *paths[0] != 0;
}

void read_paths(char *line)
{
	for (unsigned i = 0; i < 3; i++) {
		const char *word = strsep(&line, "\t");

		if (!word || !*word || strlen(word) >= sizeof(paths[i]))
			fail("cannot read the paths of midflight's sender");
		strcpy(paths[i], word);
	}
}

/* Reads until the sender closes, and closes. */
void receive_all(struct flow *flow)
{
	int fd = accept(flow->listener, NULL, NULL);
	ssize_t got;

	if (fd < 0)
		fail("cannot accept flow %u", flow->number);
	while ((got = recv(fd, NULL, 1u << 30, MSG_TRUNC | MSG_WAITALL)) > 0)
		;
	close(fd);
}

/* Packets that the node sends have their checksums: their receiver is no device. */
void fill_checksums(unsigned node)
{
	struct ethtool_value value = { .cmd = ETHTOOL_STXCSUM, .data = 0 };
	struct ifreq request = {};
	int fd;

	enter(node);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(request.ifr_name, "mf0");
	request.ifr_data = (void *)&value;
	if (ioctl(fd, SIOCETHTOOL, &request))
		fail("cannot set the checksums of node %u", node);
	close(fd);
}

/* A socket with the packets that arrive for a sender of midflight's, and no others. Its address is
 * none of the kernel's, which leaves them alone. */
static int packets_of(const struct flow *flow)
{
	const unsigned address = (10u << 24 | 76u << 16) + flow->from + 1;
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, address, 0, 4),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FIRST_SENDER + flow->number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = { .len = sizeof(rules) / sizeof(*rules), .filter = rules };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(0x0800) };
	int fd, room = 1 << 30;

	enter(flow->from);
	at.sll_ifindex = if_nametoindex("mf0");
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		fail("cannot take the packets of flow %u", flow->number);
	return fd;
}

/* Becomes midflight's sender: its socket is the standard input, its turns go to a file of the results,
 * the scenario is file 3. */
void send_ours(const struct flow *flow)
{
	struct sched_param priority = { .sched_priority = 1 };
	char number[16], begins[32];
	char *arguments[] = { paths[0], "-I", "-S", "-B", paths[1], paths[2], number, begins, NULL };
	char *environment[] = { "LANG=C.UTF-8", NULL };
	int scenario = open("scenario", O_RDONLY), packets = packets_of(flow);
	char name[32];

	snprintf(number, sizeof(number), "%u", flow->number);
	snprintf(begins, sizeof(begins), "%lu", origin);
	snprintf(name, sizeof(name), "sender-%u", flow->number);
	redirect(name, "turns", 1);
	redirect(name, "error", 2);
	/* Waits have no slack then. */
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		fail("cannot schedule flow %u", flow->number);
	if (scenario < 0 || dup2(packets, 0) < 0 || dup2(scenario, 3) < 0 || chroot("/machine") ||
	    chdir("/"))
		fail("cannot enter the host's files for flow %u", flow->number);
	execve(paths[0], arguments, environment);
	fail("cannot start %s for flow %u", paths[0], flow->number);
}

/* Why a sender of midflight's has failed. */
void fail_ours(const struct flow *flow, int status)
{
	char path[64], text[300] = "";
	int file;

	snprintf(path, sizeof(path), "out/sender-%u.error", flow->number);
	file = open(path, O_RDONLY);
	if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
		snprintf(text, sizeof(text), "status %d", status);
	text[strcspn(text, "\n")] = 0;
	errno = 0;
	fail("midflight's sender of flow %u ended: %s", flow->number, text);
}

/* Ends the senders of midflight's that are left: their devices go down. They write their turns. */
void end_ours(void)
{
	for (unsigned i = 0; i < flow_count; i++) {
		struct ifreq request = {};
		int fd, status = 0;

		if (!flows[i].is_ours || !flows[i].sender)
			continue;
		enter(flows[i].from);
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		strcpy(request.ifr_name, "mf0");
		if (ioctl(fd, SIOCGIFFLAGS, &request))
			fail("cannot read the flags of mf0");
		request.ifr_flags &= ~IFF_UP;
		if (ioctl(fd, SIOCSIFFLAGS, &request))
			fail("cannot bring mf0 down");
		close(fd);
		if (waitpid(flows[i].sender, &status, 0) != flows[i].sender || status)
			fail_ours(&flows[i], status);
		flows[i].sender = 0;
	}
}
