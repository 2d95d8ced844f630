// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the network card of a node does for TCP: how large a buffer it segments, and what it merges of what arrives.
 *
 * The lab's driver has no NAPI, in which the kernel merges packets (GRO). A veth device has. So a node that merges has one in
 * the place of the driver's device, which is in a namespace beside it and forwards to the other end of the veth.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

/* Both ends of a veth have it, so a packet that one sends is for the other, and there is no ARP. */
static const unsigned char hardware[6] = { 2, 0, 0, 0, 0, 1 };

static void link_of(struct request *request, unsigned index)
{
	memset(request, 0, sizeof(*request));
	request->head.nlmsg_type = RTM_NEWLINK;
	request->head.nlmsg_len = NLMSG_LENGTH(sizeof(request->link));
	request->link.ifi_index = index;
}

/* Changes an attribute of a device. */
void set_link(const char *name, unsigned short kind, uint32_t value, const char *what)
{
	struct request request;

	link_of(&request, if_nametoindex(name));
	attribute(&request, kind, value);
	tell_routing(&request, what);
}

/* The largest buffer of a node's device, in segments. */
void set_gso(const char *line)
{
	unsigned node, segments;

	if (sscanf(line, "gso %u %u", &node, &segments) != 2 || node >= NODES)
		fail("cannot read \"%s\"", line);
	enter(node);
	set_link("mf0", IFLA_GSO_MAX_SEGS, segments, "the largest buffer of a device");
}

static void nest(struct request *request, unsigned short kind, struct rtattr **at)
{
	*at = (void *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));
	attribute_of(request, kind, NULL, 0);
}

static void close_nest(struct request *request, struct rtattr *at)
{
	at->rta_len = (char *)request + request->head.nlmsg_len - (char *)at;
}

/* A veth "mf0" in this namespace, whose other end "gro0" is in another. */
static void make_veth(int other)
{
	struct ifinfomsg peer = {};
	struct request request;
	struct rtattr *info, *data, *end;

	link_of(&request, 0);
	attribute_of(&request, IFLA_IFNAME, "mf0", 4);
	attribute_of(&request, IFLA_ADDRESS, hardware, sizeof(hardware));
	nest(&request, IFLA_LINKINFO, &info);
	attribute_of(&request, IFLA_INFO_KIND, "veth", 4);
	nest(&request, IFLA_INFO_DATA, &data);
	nest(&request, VETH_INFO_PEER, &end);
	memcpy((char *)&request + request.head.nlmsg_len, &peer, sizeof(peer));
	request.head.nlmsg_len += NLMSG_ALIGN(sizeof(peer));
	attribute_of(&request, IFLA_IFNAME, "gro0", 5);
	attribute_of(&request, IFLA_ADDRESS, hardware, sizeof(hardware));
	attribute(&request, IFLA_NET_NS_FD, other);
	close_nest(&request, end);
	close_nest(&request, data);
	close_nest(&request, info);
	tell_routing(&request, "a veth");
}

/* Of the device of a veth: without ARP, and with a feature of its on or off. */
static void set_up(const char *name, unsigned feature, unsigned on)
{
	struct ethtool_value value = { .cmd = feature, .data = on };
	struct ifreq request = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	request.ifr_data = (void *)&value;
	if (ioctl(fd, SIOCETHTOOL, &request))
		fail("cannot set a feature of %s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		fail("cannot read the flags of %s", name);
	request.ifr_flags |= IFF_NOARP;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		fail("cannot set the flags of %s", name);
	close(fd);
}

static void route_to(const char *name, uint32_t address, unsigned bits)
{
	struct request route = { .head.nlmsg_type = RTM_NEWROUTE };

	route.head.nlmsg_len = NLMSG_LENGTH(sizeof(route.route));
	route.route = (struct rtmsg){ .rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_dst_len = bits,
				      .rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_LINK,
				      .rtm_type = RTN_UNICAST };
	attribute(&route, RTA_DST, address);
	attribute(&route, RTA_OIF, if_nametoindex(name));
	tell_routing(&route, "a route");
}

/* The device of a node merges what arrives (GRO), and holds it for this long. */
void set_gro(const char *line)
{
	struct sockaddr_in address;
	char text[32];
	unsigned node;
	uint64_t timeout;
	int outer;

	if (sscanf(line, "gro %u %lu", &node, &timeout) != 2 || node >= NODES)
		fail("cannot read \"%s\"", line);
	if (is_host)
		fail("packets are merged in a guest only");
	address = address_of(node, 0);
	if (unshare(CLONE_NEWNET))
		fail("cannot make a namespace beside node %u", node);
	outer = open("/proc/self/ns/net", O_RDONLY);
	/* What IPv6 sends of its own accord would restart the timer. */
	put("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	enter(node);
	put("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	set_link("mf0", IFLA_NET_NS_FD, outer, "the namespace of a device");
	make_veth(outer);
	set_up("mf0", ETHTOOL_SGRO, 1);
	if (mount("sysfs", "/sys", "sysfs", 0, NULL))
		fail("cannot mount /sys");
	snprintf(text, sizeof(text), "%lu", timeout);
	put("/sys/class/net/mf0/gro_flush_timeout", text);
	if (umount("/sys"))
		fail("cannot unmount /sys");
	bring_up("mf0", &address);
	if (setns(outer, CLONE_NEWNET))
		fail("cannot enter a namespace");
	put("/proc/sys/net/ipv4/ip_forward", "1");
	/* A veth merges only what comes from an end that does not segment. */
	set_up("gro0", ETHTOOL_STSO, 0);
	bring_up("mf0", NULL);
	bring_up("gro0", NULL);
	route_to("gro0", address.sin_addr.s_addr, 32);
	address.sin_addr.s_addr &= htonl(0xfffe0000);
	route_to("mf0", address.sin_addr.s_addr, 15);
}
