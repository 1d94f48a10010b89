/**
 * An explanation for people: the way of the request, a line each, then what came of it.
 */
import type { Decision, Explanation } from '../../api/stonegate-v1alpha1.ts';
import { columns } from '../output.ts';

const WORDS: Readonly<Record<Decision | 'accepted' | 'passedOn', string>> = {
  passed: 'passed',
  refused: 'REFUSED',
  notReached: '-',
  unknown: 'unknown',
  accepted: 'accepted',
  passedOn: 'passed on',
};

export function explanationTable({ spec, status }: Explanation): string {
  const { method, path } = spec.request;
  const asked = [
    ['Request', `${method} ${path}`],
    ['Credential', status.credential],
  ];
  const stages = status.stages.flatMap(({ name, decision, reason, parts = [] }) => [
    [name, WORDS[decision], reason],
    ...parts.map((part) => [`  ${part.name}`, WORDS[part.decision], part.reason]),
  ]);
  return [
    columns(asked),
    columns([['STAGE', 'DECISION', 'REASON'], ...stages]),
    columns(resultRows(status)),
  ].join('\n');
}

function resultRows(status: Explanation['status']) {
  const { refusal, user, tenant, upstreamPath, headers = [] } = status;
  const rows: (readonly [string, readonly string[]])[] = [
    ['Outcome', [outcomeWords(status)]],
    ['Answer', refusal === undefined ? [] : [`${refusal.httpStatus} ${refusal.code}: ${refusal.message}`]],
    ['Cause', refusal?.cause === undefined ? [] : [refusal.cause]],
    ['Tenant', tenant === undefined ? [] : [tenant]],
    ['User', user === undefined ? [] : [user.username]],
    ['Groups', user?.groups ?? []],
    ['Path', upstreamPath === undefined ? [] : [upstreamPath]],
    ['Headers', headers.map(({ name, value }) => (value === undefined ? name : `${name}: ${value}`))],
  ];
  return rows.flatMap(([name, values]) => values.map((value, at) => [at === 0 ? name : '', value]));
}

function outcomeWords({ outcome, refusal, stages }: Explanation['status']): string {
  if (refusal !== undefined) return `refused by ${refusal.stage}`;
  const review = stages.find(({ name }) => name === 'accessReview');
  return review?.decision === 'refused' ? `${outcome}, and refused by the API server` : outcome;
}
