/* ptrace(2) for User-Mode Linux on a processor with more registers than it can hold: see
 * wide_registers.py. What the caller sets are the first bytes of them; the rest stays as it is. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXTENDED_REGISTERS 0x202L /* NT_X86_XSTATE */

static unsigned char whole[1 << 16];

static long ask(long request, long pid, void *address, void *data)
{
	return syscall(SYS_ptrace, request, pid, address, data);
}

static long set_registers(long pid, void *address, struct iovec *part)
{
	struct iovec all = { whole, sizeof(whole) };
	long failed = ask(PTRACE_GETREGSET, pid, address, &all);

	if (failed || part->iov_len >= all.iov_len)
		return failed ? failed : ask(PTRACE_SETREGSET, pid, address, part);
	memcpy(whole, part->iov_base, part->iov_len);
	return ask(PTRACE_SETREGSET, pid, address, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list given;
	long pid, word, failed;
	void *address, *data;

	va_start(given, request);
	pid = va_arg(given, long);
	address = va_arg(given, void *);
	data = va_arg(given, void *);
	va_end(given);
	if (request == PTRACE_SETREGSET && (long)address == EXTENDED_REGISTERS)
		return set_registers(pid, address, data);
	if (request < PTRACE_PEEKTEXT || request > PTRACE_PEEKUSER)
		return ask(request, pid, address, data);
	failed = ask(request, pid, address, &word); /* what the library's own function does */
	if (failed)
		return failed;
	errno = 0;
	return word;
}
