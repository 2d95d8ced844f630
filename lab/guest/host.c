// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The machine's own kernel in the place of a guest's: network namespaces with TUN devices, and a process
 * that carries packets between them in real time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

/* Packets that a device holds for the process. */
#define QUEUE 5000

int is_host;
static int devices[NODES];
static int stop[2];
static pid_t links;
/* It has ended, so. */
static int ended, ended_so;

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void map_user(const char *path, const char *form, unsigned number)
{
	char text[64];
	int file = open(path, O_WRONLY), length = snprintf(text, sizeof(text), form, number);

	if (file < 0 || write(file, text, length) != length)
		fail("cannot write %s", path);
	close(file);
}

/* Who is not root is root of a namespace of users. */
void enter_host(const char *folder)
{
	unsigned user = geteuid(), group = getegid();

	if (chdir(folder))
		fail("cannot enter %s", folder);
	if (user) {
		if (unshare(CLONE_NEWUSER))
			fail("this machine lets only root make network namespaces");
		map_user("/proc/self/setgroups", "deny", 0);
		map_user("/proc/self/uid_map", "0 %u 1", user);
		map_user("/proc/self/gid_map", "0 %u 1", group);
	}
	prctl(PR_SET_PDEATHSIG, 9);
}

/* The device of a node, in the network namespace of who asks for it. */
void add_tun(unsigned node)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR);

	if (fd < 0)
		fail("cannot open /dev/net/tun");
	strcpy(request.ifr_name, "mf0");
	if (ioctl(fd, TUNSETIFF, &request))
		fail("cannot make a TUN device");
	set_link("mf0", IFLA_TXQLEN, QUEUE, "the queue of a TUN device");
	devices[node] = fd;
}

/* Starts what carries the packets. */
void start_links(void)
{
	static char words[NODES * 16];
	char begins[32], end_at[16];
	char *arguments[] = { paths[0], "-I", "-S", "-B", paths[1], paths[2], "links",
			      begins,	words, end_at, NULL };
	char *environment[] = { "LANG=C.UTF-8", NULL };
	struct sched_param priority = { .sched_priority = 1 };

	if (pipe(stop))
		fail("cannot make a pipe");
	links = fork();
	if (links < 0)
		fail("cannot start the links");
	if (links)
		return;
	prctl(PR_SET_PDEATHSIG, 9);
	for (unsigned node = 0; node < NODES; node++)
		if (devices[node])
			snprintf(words + strlen(words), sizeof(words) - strlen(words), "%u:%d ", node,
				 devices[node]);
	snprintf(begins, sizeof(begins), "%lu", origin);
	snprintf(end_at, sizeof(end_at), "%d", stop[0]);
	redirect("links", "packets", 1);
	redirect("links", "error", 2);
	/* Only root may. */
	sched_setscheduler(0, SCHED_FIFO, &priority);
	execve(paths[0], arguments, environment);
	fail("cannot start %s", paths[0]);
}

/* A process has ended; whether it is the one that carries the packets. */
int note_links(pid_t pid, int status)
{
	if (!pid || pid != links)
		return 0;
	ended = 1;
	ended_so = status;
	return 1;
}

/* Ends it; its record is in a file then. */
void end_links(void)
{
	char text[300] = "";
	int status = ended_so, file;

	if (!ended && (write(stop[1], "", 1) != 1 || waitpid(links, &status, 0) != links))
		fail("cannot end the links");
	if (status) {
		file = open("out/links.error", O_RDONLY);
		if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
			snprintf(text, sizeof(text), "status %d", status);
		text[strcspn(text, "\n")] = 0;
		errno = 0;
		fail("the links ended: %s", text);
	}
	if (rename("out/links.packets", "out/packets"))
		fail("cannot write out/packets");
}
