/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the parts of the guest's first program share. */
#ifndef MIDFLIGHT_GUEST_H
#define MIDFLIGHT_GUEST_H

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

#define NODES 256
#define FLOWS 4096
#define FIRST_PORT 5001
#define FIRST_SENDER 40001

struct flow {
	unsigned number, from, to;
	uint64_t bytes, opens;
	char cc[32];
	/* Its sender is midflight's; it has an end; a program of the host is its receiver. */
	int is_ours, has_end, has_program;
	int listener;
	pid_t sender, receiver;
};

/* A message to the kernel's routing. */
struct request {
	struct nlmsghdr head;
	union {
		struct fib_rule_hdr rule;
		struct rtmsg route;
		struct ifinfomsg link;
	};
	char attributes[256];
};

extern struct flow flows[FLOWS];
extern unsigned flow_count;
extern uint64_t origin, end;
/* Nodes of a multihomed namespace, the first one first. */
extern unsigned homes[NODES], home_count;

/* init.c */
void fail(const char *form, ...);
void enter(unsigned node);
struct sockaddr_in address_of(unsigned node, unsigned port);
void bring_up(const char *name, const struct sockaddr_in *address);
void put(const char *path, const char *value);
void flush(void);
void command(const char *line);
void redirect(const char *name, const char *what, int to);

/* homes.c */
void attribute_of(struct request *request, unsigned short kind, const void *value, unsigned length);
void attribute(struct request *request, unsigned short kind, uint32_t value);
/* Sends it, and waits for the answer. */
void tell_routing(struct request *request, const char *what);
void add_home(const char *line);

/* offload.c */
void set_link(const char *name, unsigned short kind, uint32_t value, const char *what);
void set_gso(const char *line);
void set_gro(const char *line);

/* host.c */
extern int is_host;
void enter_host(const char *folder);
void add_tun(unsigned node);
uint64_t clock_ns(void);
void start_links(void);
int note_links(pid_t pid, int status);
void end_links(void);

/* sender.c */
/* Of the host: interpreter, script, module. */
extern char paths[3][4096];
void read_paths(char *line);
int has_paths(void);
void receive_all(struct flow *flow);
void fill_checksums(unsigned node);
void send_ours(const struct flow *flow);
void fail_ours(const struct flow *flow, int status);
void end_ours(void);

#endif
