// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The first and only program of a guest of midflight's lab.
 *
 * It reads /script, makes a network namespace with a device for each end of a flow,
 * opens the flows at their instants, waits until those that have an end are done or the time is up,
 * writes the kernel's counters to /out, and powers off. What its devices send goes to a process beside the
 * guest, which has the links and keeps the record of all packets.
 *
 * It is static and needs no shell: a guest takes a twentieth of a second from its start to its end.
 * A flow is two processes that each do one system call for many megabytes, because under ARCH=um a
 * system call costs as much as a packet, and one that fails moves the virtual clock.
 *
 * Lines of the script, which ends with "go":
 *   namespace NODE [RATE]                   an end of flows: a namespace with the node's device, which has a queueing
 *                                           discipline of the kernel if it has a rate
 *   home NODE OF                            an interface more of the namespace of node OF
 *   gso NODE SEGMENTS                       the largest buffer that its device takes from TCP
 *   gro NODE NS                             its device merges packets, and holds them for this long
 *   sysctl NODE PATH VALUE                  below /proc/sys, in its namespace
 *   flow NUMBER FROM TO BYTES OPENS_NS CC   a transfer; of 0 bytes: without end
 *   ours NUMBER FROM TO HAS_END [0]         a transfer whose sender is midflight's; with 0 a program
 *                                           of the host is its receiver
 *   program PYTHON SCRIPT MODULE            that sender, by tabs: paths of the host's files
 *   host                                    programs see the host's files, read-only
 *   server NODE COMMAND                     a program of the host, started at once
 *   client NODE COMMAND                     the same, started when the script begins; ends the guest
 *   sample NS                               senders tell their state so often, from the origin on
 *   origin NS, end NS                       when the script begins on the monotonic clock; its length
 * and those that the driver takes (lab/kernel/midflight.c).
 *
 * As `init host FOLDER` it does the same on the machine's own kernel and in real time, in namespaces of
 * its own: the links are those of a program beside it (host.c), and the script begins a second from now.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define LINE 16384
/* How long a server may take to end, in nanoseconds. */
#define PATIENCE 1000000000
#define CHUNK (64u << 20)
#define COPY (1u << 20)

/* A program of the host. */
struct program {
	const char *name;
	unsigned node;
	char command[LINE];
	pid_t pid;
};

/* What a program must not do: mount, so that nothing of the host is writable but the results; load,
 * reboot, set the clock, make devices, leave its root. CAP_SYS_MODULE, CAP_SYS_RAWIO,
 * CAP_SYS_CHROOT, CAP_SYS_ADMIN, CAP_SYS_BOOT, CAP_SYS_TIME, CAP_MKNOD. */
static const int refused[] = { 16, 17, 18, 21, 22, 25, 27 };

static int namespaces[NODES];
static struct program server = { .name = "server" }, client = { .name = "client" };
struct flow flows[FLOWS];
unsigned flow_count;
uint64_t origin, end;
static uint64_t sample;
static int driver;
static char commands[32768];
static size_t pending;

/* Says what went wrong where the host finds it, and ends the guest. */
void fail(const char *form, ...)
{
	char text[512];
	int number = errno, length;
	va_list list;

	va_start(list, form);
	length = vsnprintf(text, sizeof(text), form, list);
	va_end(list);
	if (number && length < (int)sizeof(text))
		snprintf(text + length, sizeof(text) - length, ": %s", strerror(number));
	/* The first error is the cause of others. */
	int file = open("out/error", O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (file >= 0) {
		if (write(file, text, strlen(text)) < 0)
			puts(text);
		close(file);
	} else {
		puts(text);
	}
	if (is_host)
		_exit(1);
	sync();
	if (getpid() == 1)
		reboot(RB_POWER_OFF);
	_exit(1);
}

static void sleep_until(uint64_t at)
{
	struct timespec time = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static void sleep_for(uint64_t ns)
{
	struct timespec time = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&time, NULL);
}

void enter(unsigned node)
{
	if (setns(namespaces[node], CLONE_NEWNET))
		fail("cannot enter the namespace of node %u", node);
}

struct sockaddr_in address_of(unsigned node, unsigned port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	address.sin_addr.s_addr = htonl((10u << 24 | 77u << 16) + node + 1);
	return address;
}

void bring_up(const char *name, const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = {};

	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	if (address) {
		struct sockaddr_in mask = { .sin_family = AF_INET };

		/* Senders of midflight's have addresses of 10.76, the kernel's of 10.77. */
		mask.sin_addr.s_addr = htonl(0xfffe0000);
		memcpy(&request.ifr_addr, address, sizeof(*address));
		if (ioctl(fd, SIOCSIFADDR, &request))
			fail("cannot set the address of %s", name);
		memcpy(&request.ifr_addr, &mask, sizeof(mask));
		if (ioctl(fd, SIOCSIFNETMASK, &request))
			fail("cannot set the netmask of %s", name);
	}
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		fail("cannot read the flags of %s", name);
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		fail("cannot bring %s up", name);
	close(fd);
}

/* Hands over the lines that the driver has not yet got. */
void flush(void)
{
	size_t done = 0;

	while (done < pending) {
		ssize_t taken = write(driver, commands + done, pending - done);

		if (taken <= 0) {
			commands[done + strcspn(commands + done, "\n")] = 0;
			fail("the driver refuses \"%s\"", commands + done);
		}
		done += taken;
	}
	pending = 0;
}

void command(const char *line)
{
	size_t length = strlen(line);

	/* There is no driver. */
	if (is_host)
		return;
	if (pending + length + 2 > sizeof(commands))
		flush();
	memcpy(commands + pending, line, length);
	pending += length;
	commands[pending++] = '\n';
	commands[pending] = 0;
}

void put(const char *path, const char *value)
{
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, value, strlen(value)) < 0)
		fail("cannot set %s to \"%s\"", path, value);
	close(file);
}

static void make_namespace(const char *of)
{
	struct sockaddr_in address;
	char line[64];
	uint64_t rate = 0;
	unsigned node;

	if (sscanf(of, "namespace %u %lu", &node, &rate) < 1 || node >= NODES)
		fail("cannot read \"%s\"", of);
	if (unshare(CLONE_NEWNET))
		fail("cannot make a namespace for node %u", node);
	address = address_of(node, 0);
	namespaces[node] = open("/proc/self/ns/net", O_RDONLY);
	/* What IPv6 sends of its own accord would take the transmitter's time. */
	if (rate)
		put("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	if (is_host) {
		add_tun(node);
	} else {
		snprintf(line, sizeof(line), "device %u %lu", node, rate);
		command(line);
		flush();
	}
	bring_up("lo", NULL);
	bring_up("mf0", &address);
}

static void set_sysctl(const char *line)
{
	char path[256] = "/proc/sys/", *value;
	unsigned node;
	int start = 0;

	if (sscanf(line, "sysctl %u %n", &node, &start) != 1 || !start || node >= NODES)
		fail("cannot read \"%s\"", line);
	strncat(path, line + start, sizeof(path) - strlen(path) - 1);
	value = strchr(path, ' ');
	if (!value)
		fail("cannot read \"%s\"", line);
	*value++ = 0;
	enter(node);
	put(path, value);
}

static void read_flow(const char *line)
{
	struct flow *flow = &flows[flow_count];

	if (flow_count == FLOWS)
		fail("there are more than %d flows", FLOWS);
	int receives = 1;

	if (sscanf(line, "ours %u %u %u %d %d", &flow->number, &flow->from, &flow->to,
		   &flow->has_end, &receives) >= 4) {
		flow->is_ours = 1;
		flow->has_program = !receives;
	} else if (sscanf(line, "flow %u %u %u %lu %lu %31s", &flow->number, &flow->from, &flow->to,
			  &flow->bytes, &flow->opens, flow->cc) == 6) {
		flow->has_end = flow->bytes > 0;
	} else {
		fail("cannot read \"%s\"", line);
	}
	if (flow->from >= NODES || flow->to >= NODES)
		fail("cannot read \"%s\"", line);
	flow_count++;
}

static void mount_at(const char *kind, const char *path, unsigned long flags, const char *option)
{
	if (mount(kind, path, kind, flags, option) && errno != EBUSY)
		fail("cannot mount %s", path);
}

/* The host's files at /host, with the guest's own /proc, /sys, /dev, /run and /tmp, and a folder of
 * the results at /mnt. */
static void show_host(void)
{
	mount_at("hostfs", "/host", MS_RDONLY, "host");
	mount_at("proc", "/host/proc", 0, NULL);
	mount_at("sysfs", "/host/sys", 0, NULL);
	mount_at("devtmpfs", "/host/dev", 0, NULL);
	mount_at("tmpfs", "/host/run", 0, NULL);
	mount_at("tmpfs", "/host/tmp", 0, "mode=1777");
	mount_at("hostfs", "/host/mnt", 0, "out/files");
	mkdir("/host/dev/shm", 01777);
}

static void read_program(struct program *program, const char *line)
{
	int start = 0;

	if (sscanf(line, "%*s %u %n", &program->node, &start) != 1 || !start ||
	    program->node >= NODES || !line[start])
		fail("cannot read \"%s\"", line);
	strcpy(program->command, line + start);
}

void redirect(const char *name, const char *what, int to)
{
	char path[64];
	int file;

	snprintf(path, sizeof(path), "out/%s.%s", name, what);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	if (file < 0 || dup2(file, to) < 0)
		fail("cannot write %s", path);
}

/* Starts a program with the host's shell; it gets the addresses of both ends. */
static void run(struct program *program)
{
	struct sockaddr_in server_at = address_of(server.node, 0), client_at = address_of(client.node, 0);
	char server_is[32] = "SERVER=", client_is[32] = "CLIENT=";
	static char clients_are[NODES * 16] = "CLIENTS=";
	char *arguments[] = { "sh", "-c", program->command, NULL };
	char *environment[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/mnt", "TMPDIR=/tmp", "LANG=C.UTF-8", server_is, client_is, clients_are, NULL,
	};
	size_t length;

	program->pid = fork();
	if (program->pid < 0)
		fail("cannot start the %s", program->name);
	if (program->pid)
		return;
	enter(program->node);
	inet_ntop(AF_INET, &server_at.sin_addr, server_is + 7, sizeof(server_is) - 7);
	inet_ntop(AF_INET, &client_at.sin_addr, client_is + 7, sizeof(client_is) - 7);
	strcat(clients_are, client_is + 7);
	for (unsigned i = 1; i < home_count; i++) {
		struct sockaddr_in at = address_of(homes[i], 0);

		strcat(clients_are, " ");
		length = strlen(clients_are);
		inet_ntop(AF_INET, &at.sin_addr, clients_are + length, sizeof(clients_are) - length);
	}
	setsid();
	redirect(program->name, "stdout", 1);
	redirect(program->name, "stderr", 2);
	close(0);
	if (open("/dev/null", O_RDONLY) != 0 || chroot("/host") || chdir("/mnt"))
		fail("cannot enter the host's files for the %s", program->name);
	for (unsigned i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (prctl(PR_CAPBSET_DROP, refused[i]))
			fail("cannot take rights from the %s", program->name);
	close(driver);
	if (program == &client)
		sleep_until(origin - 1);
	execve("/bin/sh", arguments, environment);
	fail("cannot start the host's /bin/sh for the %s", program->name);
}

/* Notes how a program ended: its exit status as a shell has it. */
static void note_end(const struct program *program, int status)
{
	char path[64], text[16];
	int file;

	snprintf(path, sizeof(path), "out/%s.status", program->name);
	snprintf(text, sizeof(text), "%d",
		 WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	file = open(path, O_WRONLY | O_CREAT, 0644);
	if (file < 0 || write(file, text, strlen(text)) < 0)
		fail("cannot write %s", path);
	close(file);
}

/* Waits until the client ends or the time is up; ends what is left. */
static void wait_for_client(void)
{
	pid_t clock = fork(), pid;
	int status;

	if (!clock) {
		sleep_until(origin + end);
		_exit(0);
	}
	while ((pid = wait(&status)) > 0 && pid != clock) {
		if (pid == server.pid) {
			note_end(&server, status);
			server.pid = 0;
		}
		for (unsigned i = 0; i < flow_count; i++) {
			if (pid != flows[i].sender)
				continue;
			if (status)
				fail_ours(&flows[i], status);
			flows[i].sender = 0;
		}
		if (pid == client.pid) {
			note_end(&client, status);
			break;
		}
	}
	if (server.pid) {
		kill(-server.pid, SIGTERM);
		sleep_for(PATIENCE);
		if (waitpid(server.pid, &status, WNOHANG) == server.pid)
			note_end(&server, status);
	}
	end_ours();
	/* All but this process, which writes the results. */
	kill(-1, SIGKILL);
}

static void read_script(void)
{
	FILE *file = fopen("script", "r");
	static char line[LINE];

	if (!file)
		fail("cannot read the script");
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		errno = 0;
		if (!strcmp(line, "go")) {
			fclose(file);
			return;
		}
		if (!strncmp(line, "namespace ", 10))
			make_namespace(line);
		else if (!strncmp(line, "home ", 5))
			add_home(line);
		else if (!strncmp(line, "gso ", 4))
			set_gso(line);
		else if (!strncmp(line, "gro ", 4))
			set_gro(line);
		else if (!strncmp(line, "sysctl ", 7))
			set_sysctl(line);
		else if (!strncmp(line, "flow ", 5) || !strncmp(line, "ours ", 5))
			read_flow(line);
		else if (!strncmp(line, "program ", 8))
			read_paths(line + 8);
		else if (!strcmp(line, "host"))
			show_host();
		else if (!strncmp(line, "server ", 7))
			read_program(&server, line);
		else if (!strncmp(line, "client ", 7))
			read_program(&client, line);
		else if (sscanf(line, "origin %lu", &origin) == 1 ||
			 sscanf(line, "end %lu", &end) == 1 ||
			 sscanf(line, "sample %lu", &sample) == 1)
			continue;
		else
			command(line);
	}
	errno = 0;
	fail("the script has no end");
}

static void listen_for(struct flow *flow)
{
	struct sockaddr_in address = address_of(flow->to, FIRST_PORT + flow->number);

	enter(flow->to);
	flow->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(flow->listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(flow->listener, 1))
		fail("cannot listen for flow %u", flow->number);
}

/* Reads and throws away. */
static void receive(struct flow *flow)
{
	uint64_t left = flow->bytes ? flow->bytes : UINT64_MAX;
	int fd = accept(flow->listener, NULL, NULL);

	if (fd < 0)
		fail("cannot accept flow %u", flow->number);
	while (left) {
		size_t most = left < (1u << 30) ? left : (1u << 30);
		ssize_t got = recv(fd, NULL, most, MSG_TRUNC | MSG_WAITALL);

		if (got <= 0)
			fail("flow %u ends early at its receiver", flow->number);
		left -= got;
	}
}

/* A sample: the instant since the origin, how many bytes of the state the kernel gave, and these. */
struct sampled {
	uint64_t at;
	uint32_t length;
	uint32_t unused;
	uint8_t info[256];
};

/* Writes the state of a connection (TCP_INFO) at each multiple of the interval, until it is ended. It is
 * there without an interval, too: a process takes random numbers of the kernel, and a run must not
 * depend on whether samples are taken. */
static void tell_state(const struct flow *flow, int fd)
{
	uint64_t at;
	char path[64];
	int file;

	while (!sample)
		pause();
	at = flow->opens - flow->opens % sample;
	snprintf(path, sizeof(path), "/out/state-%u", flow->number);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file < 0)
		fail("cannot write %s", path);
	for (;;) {
		struct sampled now = {};
		socklen_t length = sizeof(now.info);

		at += sample;
		if (at >= end)
			pause();
		sleep_until(origin + at - 1);
		now.at = at;
		if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, now.info, &length))
			fail("cannot read the state of flow %u", flow->number);
		now.length = length;
		if (write(file, &now, sizeof(now)) != sizeof(now))
			fail("cannot write %s", path);
	}
}

/* Sends at its instant; done when everything is acknowledged. */
static void transmit(struct flow *flow, int receiver_done)
{
	struct sockaddr_in address = address_of(flow->to, FIRST_PORT + flow->number);
	uint64_t left = flow->bytes ? flow->bytes : UINT64_MAX;
	char *data = mmap(NULL, CHUNK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd, unacked = 1;
	pid_t sampler;
	char nothing;

	enter(flow->from);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc, strlen(flow->cc)))
		fail("cannot use congestion control %s", flow->cc);
	sampler = fork();
	if (sampler < 0)
		fail("cannot start what tells the state of flow %u", flow->number);
	if (!sampler)
		tell_state(flow, fd);
	/* Who sleeps runs a nanosecond late. */
	sleep_until(origin + flow->opens - 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		fail("cannot connect flow %u", flow->number);
	while (left) {
		ssize_t sent = send(fd, data, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);

		if (sent <= 0)
			fail("flow %u ends early at its sender", flow->number);
		left -= sent;
	}
	/* The receiver's end of this closes with it. */
	while (read(receiver_done, &nothing, 1) > 0)
		;
	while (!ioctl(fd, SIOCOUTQ, &unacked) && unacked)
		sleep_for(1000000);
	/* It has the connection open, too. */
	kill(sampler, SIGKILL);
	waitpid(sampler, NULL, 0);
}

/* Starts the two processes of a flow. */
static void start(struct flow *flow)
{
	int done[2];

	if (pipe(done))
		fail("cannot make a pipe");
	flow->receiver = flow->has_program ? 1 : fork();
	if (!flow->receiver) {
		close(done[0]);
		if (flow->is_ours)
			receive_all(flow);
		else
			receive(flow);
		close(done[1]);
		pause();
	}
	flow->sender = fork();
	if (!flow->sender) {
		close(done[1]);
		if (flow->is_ours)
			send_ours(flow);
		transmit(flow, done[0]);
		/* The connection stays open: a simulated flow has no FIN, which would take its place in a queue. */
		if (!fork())
			for (;;)
				pause();
		_exit(0);
	}
	if (flow->receiver < 0 || flow->sender < 0)
		fail("cannot start flow %u", flow->number);
	close(done[0]);
	close(done[1]);
}

static void copy(const char *from, const char *to)
{
	static char buffer[COPY];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ssize_t got;

	if (in < 0 || out < 0)
		fail("cannot copy %s to %s", from, to);
	while ((got = read(in, buffer, sizeof(buffer))) > 0) {
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(out, buffer + done, got - done);

			if (put <= 0)
				fail("cannot write %s", to);
			done += put;
		}
	}
	if (got < 0)
		fail("cannot read %s", from);
	close(in);
	close(out);
}

/* Until the flows that have an end are done, or the time is up. */
static void wait_for_end(void)
{
	unsigned left = 0;
	pid_t clock = fork();

	if (!clock) {
		sleep_until(origin + end);
		_exit(0);
	}
	for (unsigned i = 0; i < flow_count; i++)
		left += flows[i].has_end;
	if (!left)
		left = 1;
	while (left) {
		int status;
		pid_t pid = wait(&status);

		if (note_links(pid, status))
			return;
		if (pid == clock)
			return;
		for (unsigned i = 0; i < flow_count; i++) {
			if (flows[i].sender != pid)
				continue;
			if (flows[i].is_ours && status)
				fail_ours(&flows[i], status);
			left -= flows[i].has_end;
			flows[i].sender = 0;
		}
		if (pid < 0 || status)
			fail("a process of the guest ended with status %d", status);
	}
}

/* The driver tells its last packets. */
static void end_driver(void)
{
	command("end");
	flush();
}

static void write_results(void)
{
	char path[64];

	if (is_host)
		end_links();
	else
		end_driver();
	end_ours();
	for (unsigned node = 0; node < NODES; node++) {
		if (!namespaces[node])
			continue;
		enter(node);
		snprintf(path, sizeof(path), "out/netstat-%u", node);
		copy("/proc/self/net/netstat", path);
		snprintf(path, sizeof(path), "out/snmp-%u", node);
		copy("/proc/self/net/snmp", path);
	}
}

static void mount_all(void)
{
	if (mount("results", "/out", "hostfs", 0, "out"))
		fail("cannot mount the result folder");
	if (mount("proc", "/proc", "proc", 0, NULL))
		fail("cannot mount /proc");
	/* Some kernels have done so. */
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) && errno != EBUSY)
		fail("cannot mount /dev");
	driver = open("/dev/midflight", O_RDWR);
	if (driver < 0)
		fail("the kernel has no /dev/midflight");
}

int main(int count, char **arguments)
{
	char line[64];

	is_host = count == 3 && !strcmp(arguments[1], "host");
	if (is_host)
		enter_host(arguments[2]);
	else
		mount_all();
	prctl(PR_SET_TIMERSLACK, 1);
	read_script();
	if (has_paths() && !is_host)
		mount_at("hostfs", "/machine", MS_RDONLY, "host");
	for (unsigned i = 0; i < flow_count; i++) {
		if (!flows[i].has_program)
			listen_for(&flows[i]);
		if (flows[i].is_ours)
			fill_checksums(flows[i].to);
	}
	if (is_host)
		origin = clock_ns() + 1000000000;
	snprintf(line, sizeof(line), "start %lu", origin);
	command(line);
	flush();
	for (unsigned i = 0; i < flow_count; i++)
		start(&flows[i]);
	if (is_host)
		start_links();
	if (*server.command)
		run(&server);
	if (*client.command) {
		run(&client);
		wait_for_client();
	} else {
		wait_for_end();
	}
	write_results();
	close(open("out/done", O_WRONLY | O_CREAT, 0644));
	if (is_host)
		return 0;
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
