// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <utlist.h>

#include "clock/now.h"
#include "consensus/contents.h"
#include "consensus/job.h"
#include "consensus/shards.h"
#include "memory.h"

struct job_part {
	struct tenure_commit commit;	/* first; its outcome and error, too */
	struct job *job;
	unsigned char *bytes;
	bool waits;			/* to be sent again */
};

struct job {
	struct job *prev, *next;
	struct store_request *request;
	uint64_t since_ns;
	bool is_unknown;		/* the request's submitter has it so */
	size_t left;			/* parts on their way, or to be sent again */
	size_t count;
	struct job_part parts[];
};

static struct {
	struct store_figures *figures;
	struct job *waiting, *sent;
	size_t unknown;
	size_t *parts;			/* of each shard: its part in a new job, plus 1 */
} jobs;

/* Making */

/* Counts the shards of the request, and notes their parts. */
static size_t job_count_parts(const struct store_request *request)
{
	size_t count = 0;

	for (size_t i = 0; i < request->count; i++) {
		size_t *part = &jobs.parts[request->records[i].key.shard];

		*part = *part ?: ++count;
	}
	if (!count)
		jobs.parts[request->shard] = ++count;
	return count;
}

static void job_note_part(struct job *job, unsigned int shard)
{
	struct job_part *part = &job->parts[jobs.parts[shard] - 1];

	part->job = job;
	part->commit.shard = shard;
}

static void job_done(struct tenure_commit *commit);

/* A part that only cleans takes a number, too. */
static void job_finish_part(struct job_part *part)
{
	part->bytes = memory_get(part->commit.size, 1);
	part->commit.content = part->bytes;
	part->commit.size = 0;
	part->commit.count = part->commit.count ?: 1;
	part->commit.clean_before = part->job->request->clean_before;
	part->commit.done = job_done;
	shards_hold(part->commit.shard);
	jobs.parts[part->commit.shard] = 0;
}

static struct job *job_new(struct store_request *request)
{
	size_t count = job_count_parts(request);
	struct job *job = memory_get(1, sizeof(*job) + count * sizeof(*job->parts));
	struct job_part *part;

	job->request = request;
	job->count = count;
	job->since_ns = now_clock_ns(CLOCK_MONOTONIC);
	if (!request->count)
		job_note_part(job, request->shard);
	for (size_t i = 0; i < request->count; i++) {
		unsigned int shard = request->records[i].key.shard;

		part = &job->parts[jobs.parts[shard] - 1];
		job_note_part(job, shard);
		part->commit.size += contents_cost(&request->records[i]);
		part->commit.count++;
		/* Its place, until it has a number */
		request->records[i].seq = (uint64_t)(part - job->parts);
	}
	for (size_t i = 0; i < count; i++)
		job_finish_part(&job->parts[i]);
	for (size_t i = 0; i < request->count; i++) {
		part = &job->parts[request->records[i].seq];
		part->commit.size = (size_t)(contents_write(part->bytes + part->commit.size,
							    &request->records[i]) - part->bytes);
	}
	return job;
}

void job_submit(struct store_request *request)
{
	struct job *job = job_new(request);

	DL_APPEND(jobs.waiting, job);
}

/* Ending */

static void job_tell_unknown(struct job *job)
{
	if (job->is_unknown)
		return;
	job->is_unknown = true;
	jobs.unknown++;
	job->request->outcome = STORE_UNKNOWN;
	job->request->error = -EIO;
	job->request->done(job->request);
}

/* Records of a part that is lost have numbers that mean nothing. */
static void job_number(const struct job *job)
{
	struct store_request *request = job->request;
	uint64_t *next = memory_get(job->count, sizeof(*next));

	for (size_t i = 0; i < job->count; i++)
		next[i] = job->parts[i].commit.first;
	for (size_t i = 0; i < request->count; i++)
		request->records[i].seq = next[request->records[i].seq]++;
	free(next);
}

/* done() may submit others, and frees the request. Shards that are released may be lost with it. */
static void job_finish(struct job *job, enum store_outcome outcome, int error)
{
	struct store_request *request = job->request;
	uint64_t took = now_clock_ns(CLOCK_MONOTONIC) - job->since_ns;

	jobs.figures->commits++;
	jobs.figures->records += request->count;
	jobs.figures->failures += outcome != STORE_COMMITTED;
	jobs.figures->commit_ns += took;
	if (took > jobs.figures->commit_max_ns)
		jobs.figures->commit_max_ns = took;
	if (outcome == STORE_COMMITTED)
		job_number(job);
	jobs.unknown -= job->is_unknown;
	request->outcome = outcome;
	request->error = error;
	request->done(request);
	for (size_t i = 0; i < job->count; i++) {
		free(job->parts[i].bytes);
		shards_release(job->parts[i].commit.shard);
	}
	free(job);
}

static void job_judge(struct job *job)
{
	size_t done = 0, lost = 0, doubtful = 0;
	int error = 0;

	for (size_t i = 0; i < job->count; i++) {
		const struct tenure_commit *commit = &job->parts[i].commit;

		done += commit->outcome == CONSENSUS_DONE;
		lost += commit->outcome != CONSENSUS_DONE && commit->error == -ESTALE;
		doubtful += commit->outcome == CONSENSUS_UNKNOWN;
		if (commit->outcome != CONSENSUS_DONE && error != -ESTALE)
			error = commit->error;
	}
	if (doubtful || (done && done < job->count))
		job_tell_unknown(job);
	for (size_t i = 0; done && i < job->count; i++) {
		struct job_part *part = &job->parts[i];

		part->waits = part->commit.outcome == CONSENSUS_REFUSED &&
			      part->commit.error != -ESTALE;
		job->left += part->waits;
	}
	if (job->left)
		return;
	DL_DELETE(jobs.sent, job);
	if (done)
		job_finish(job, STORE_COMMITTED, 0);
	else
		job_finish(job, STORE_REFUSED, error);
}

static void job_done(struct tenure_commit *commit)
{
	struct job *job = ((struct job_part *)commit)->job;

	if (commit->outcome == CONSENSUS_UNKNOWN && commit->error == -EAGAIN)
		job_tell_unknown(job);
	else if (!--job->left)
		job_judge(job);
}

/* Sending */

static int job_refusal(const struct job *job)
{
	if (!shards_are_sure())
		return -EIO;
	for (size_t i = 0; i < job->count; i++) {
		if (!shards_serve(job->parts[i].commit.shard))
			return -ESTALE;
		if (job->parts[i].commit.size > TENURE_CONTENT)
			return -EMSGSIZE;
	}
	return 0;
}

void job_flush(void)
{
	struct job *job;
	int error;

	while ((job = jobs.waiting)) {
		DL_DELETE(jobs.waiting, job);
		error = job_refusal(job);
		if (error) {
			job_finish(job, STORE_REFUSED, error);
			continue;
		}
		DL_APPEND(jobs.sent, job);
		job->left = job->count;
		for (size_t i = 0; i < job->count; i++)
			tenure_submit(shards_tenures(), &job->parts[i].commit);
	}
}

/* A part that is refused at once may end its job. */
static struct job_part *job_find_waiting(void)
{
	struct job *job;

	DL_FOREACH(jobs.sent, job)
		for (size_t i = 0; i < job->count; i++)
			if (job->parts[i].waits)
				return &job->parts[i];
	return NULL;
}

void job_send_again(void)
{
	struct job_part *part;

	while ((part = job_find_waiting())) {
		part->waits = false;
		tenure_submit(shards_tenures(), &part->commit);
	}
}

bool job_is_unknown(void)
{
	return jobs.unknown;
}

bool job_is_busy(void)
{
	return jobs.sent;
}

void job_begin(struct store_figures *figures, unsigned int shards)
{
	jobs.figures = figures;
	jobs.parts = memory_get(shards, sizeof(*jobs.parts));
}

void job_end(void)
{
	free(jobs.parts);
	jobs.parts = NULL;
}
