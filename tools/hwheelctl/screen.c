// SPDX-License-Identifier: GPL-2.0-only
/*
 * Escape sequences are those of ECMA-48, and xterm's for the alternate screen: each terminal
 * that Linux users have knows them, so no library looks them up.
 *
 * Signals are blocked and read from a descriptor: nothing happens between two instructions.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "screen.h"

#define ALTERNATE	"\033[?1049h\033[?25l"
#define NORMAL		"\033[?25h\033[?1049l"
#define HOME		"\033[H"
#define CLEAR_LINE	"\033[K"
#define CLEAR_REST	"\033[J"

static struct {
	bool terminal;		/* stdout */
	bool keys;		/* stdin is one, too */
	struct termios before;
	sigset_t mask_before;
	sigset_t signals;
	int signal_fd;
	int signal;		/* that ends the program, or 0 */
} screen = { .signal_fd = -1 };

static void enter(void)
{
	struct termios raw;

	if (screen.keys) {
		raw = screen.before;
		raw.c_lflag &= ~(ICANON | ECHO);
		raw.c_cc[VMIN] = 1;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	}
	fputs(ALTERNATE, stdout);
	fflush(stdout);
}

static void leave(void)
{
	fputs(NORMAL, stdout);
	fflush(stdout);
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen.before);
}

static void block_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };

	sigemptyset(&screen.signals);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&screen.signals, signals[i]);
	sigprocmask(SIG_BLOCK, &screen.signals, &screen.mask_before);
	screen.signal_fd = signalfd(-1, &screen.signals, SFD_CLOEXEC);
}

void screen_begin(void)
{
	screen.terminal = isatty(STDOUT_FILENO);
	if (!screen.terminal)
		return;
	screen.keys = !tcgetattr(STDIN_FILENO, &screen.before);
	block_signals();
	enter();
}

void screen_end(void)
{
	if (!screen.terminal)
		return;
	leave();
	close(screen.signal_fd);
	screen.signal_fd = -1;
	if (screen.signal)
		raise(screen.signal);
	sigprocmask(SIG_SETMASK, &screen.mask_before, NULL);
	screen.terminal = false;
}

bool screen_is_terminal(void)
{
	return screen.terminal;
}

static struct winsize size(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	return size;
}

int screen_rows(void)
{
	return size().ws_row;
}

/* After the last line there is no newline: it would scroll. */
static void draw(const char *text)
{
	struct winsize now = size();
	int length;

	fputs(HOME, stdout);
	for (int row = 0; row < now.ws_row && *text; row++) {
		length = (int)strcspn(text, "\n");
		printf("%s%.*s" CLEAR_LINE, row ? "\r\n" : "",
		       length < now.ws_col ? length : now.ws_col, text);
		text += length + (text[length] == '\n');
	}
	fputs(CLEAR_REST, stdout);
}

void screen_show(const char *text)
{
	if (screen.terminal)
		draw(text);
	else
		fputs(text, stdout);
	fflush(stdout);
}

/* As the shell has it: it gets its terminal back, and gives it again later. */
static void suspend(void)
{
	sigset_t stop;

	leave();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	enter();
}

static enum screen_event take_signal(void)
{
	struct signalfd_siginfo info;

	if (read(screen.signal_fd, &info, sizeof(info)) != sizeof(info))
		return SCREEN_WAITED;
	if (info.ssi_signo == SIGTSTP)
		suspend();
	if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGWINCH)
		return SCREEN_RESIZED;
	screen.signal = (int)info.ssi_signo;
	return SCREEN_QUIT;
}

/* The end of the input is no reason to end: there are still signals. */
static enum screen_event take_key(void)
{
	char key;

	if (read(STDIN_FILENO, &key, 1) != 1) {
		screen.keys = false;
		return SCREEN_RESIZED;
	}
	return key == 'q' || key == 'Q' ? SCREEN_QUIT : SCREEN_RESIZED;
}

enum screen_event screen_wait(unsigned long long ns)
{
	const struct timespec time = {
		.tv_sec = (time_t)(ns / 1000000000U), .tv_nsec = (long)(ns % 1000000000U),
	};
	struct pollfd fds[] = {
		{ .fd = screen.signal_fd, .events = POLLIN },
		{ .fd = screen.keys ? STDIN_FILENO : -1, .events = POLLIN },
	};

	ppoll(fds, 2, &time, NULL);
	if (fds[0].revents)
		return take_signal();
	if (fds[1].revents)
		return take_key();
	return SCREEN_WAITED;
}
