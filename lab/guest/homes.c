// SPDX-License-Identifier: MIT OR Apache-2.0
/* A namespace with several interfaces, each with its own address and routes. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

/* The first table of routes by the address that packets come from. */
#define FIRST_TABLE 100

unsigned homes[NODES], home_count;

void attribute_of(struct request *request, unsigned short kind, const void *value, unsigned length)
{
	struct rtattr *at = (void *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));

	at->rta_type = kind;
	at->rta_len = RTA_LENGTH(length);
	if (length)
		memcpy(RTA_DATA(at), value, length);
	request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + RTA_ALIGN(at->rta_len);
}

void attribute(struct request *request, unsigned short kind, uint32_t value)
{
	attribute_of(request, kind, &value, sizeof(value));
}

void tell_routing(struct request *request, const char *what)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char more[256];
	} answer = {};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	request->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
	if (fd < 0 || send(fd, request, request->head.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < 0)
		fail("cannot set %s", what);
	errno = -answer.error.error;
	if (errno)
		fail("cannot set %s", what);
	close(fd);
}

/* Packets from the address of a node leave by its interface. */
static void route_from(unsigned node, const char *name, unsigned table)
{
	struct request rule = { .head.nlmsg_type = RTM_NEWRULE }, route = {
		.head.nlmsg_type = RTM_NEWROUTE
	};

	rule.head.nlmsg_len = NLMSG_LENGTH(sizeof(rule.rule));
	rule.rule = (struct fib_rule_hdr){ .family = AF_INET, .src_len = 32, .table = table,
					   .action = FR_ACT_TO_TBL };
	attribute(&rule, FRA_SRC, address_of(node, 0).sin_addr.s_addr);
	tell_routing(&rule, "a rule of routes");
	route.head.nlmsg_len = NLMSG_LENGTH(sizeof(route.route));
	route.route = (struct rtmsg){ .rtm_family = AF_INET, .rtm_table = table,
				      .rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_LINK,
				      .rtm_type = RTN_UNICAST };
	attribute(&route, RTA_OIF, if_nametoindex(name));
	tell_routing(&route, "a route");
}

/* A second and later interface of a namespace; the kernel calls them mf1 and so on. */
void add_home(const char *line)
{
	struct sockaddr_in address;
	char text[64], name[IFNAMSIZ];
	unsigned node, of;

	if (sscanf(line, "home %u %u", &node, &of) != 2 || node >= NODES || of >= NODES)
		fail("cannot read \"%s\"", line);
	enter(of);
	if (!home_count) {
		homes[home_count++] = of;
		route_from(of, "mf0", FIRST_TABLE);
	}
	if (home_count >= NODES - FIRST_TABLE)
		fail("there are too many interfaces");
	snprintf(text, sizeof(text), "device %u", node);
	command(text);
	flush();
	snprintf(name, sizeof(name), "mf%u", home_count);
	address = address_of(node, 0);
	bring_up(name, &address);
	route_from(node, name, FIRST_TABLE + home_count);
	homes[home_count++] = node;
}
