/**
 * `stonegate explain`: what would happen to a request, stage by stage. It is computed from a configuration
 * file, whose backends are called, or by a running Stonegate for an administrator.
 */
import {
  type Decision,
  EXPLANATIONS,
  type Explanation,
  type ExplanationSpec,
} from '../features/explain/stonegate-v1alpha1.ts';
import {
  columns,
  createCommand,
  factRows,
  type OptionValues,
  OUTPUT_OPTION,
  print,
  UsageError,
  VALUE,
} from './command.ts';
import { destinationOf } from './destination.ts';
import { REQUEST_OPTIONS, REQUEST_VERBS, requestOf } from './explain-request.ts';
import { readGivenToken } from './given-file.ts';
import { createOwnObjectClient } from './own-object-client.ts';
import { StonegateAPIError } from './stonegate-api.ts';

const USAGE = `Usage: stonegate explain REQUEST [--token-file FILE] --config FILE
       stonegate explain REQUEST [--token-file FILE] --server URL
                         [--ca-file FILE] --admin-token-file FILE
       stonegate explain REQUEST [--token-file FILE] [--context NAME]
                         [--kubeconfig FILE]

Says what would become of a request, stage by stage, and sends nothing on.
REQUEST is one of
  VERB TYPE [NAME] [-n NAMESPACE | -A] [--subresource NAME]
  exec | attach | port-forward | logs POD [-n NAMESPACE]
  --path PATH [--method METHOD]
such as: get pods -n web; delete deploy/shop; --path /api/v1/nodes.
To explain a watch, write "watch" for "get"; to follow a log,
--path "/api/v1/namespaces/NAMESPACE/pods/POD/log?follow=true"; a request that
impersonates a user, --header "Impersonate-User: NAME" (Impersonate-Group,
Impersonate-Uid).
Without -n the namespace is the context's, else "default"; a custom resource
(widgets.v1.example.com) is then taken for cluster-wide, since only the API
server knows whether it is namespaced.

  --token-file FILE         the credential to explain; without it the token of
                            the context, with --config or --server a request
                            without one
  --header "NAME: VALUE"    a further header of the request, as often as needed;
                            not for secrets
  --upgrade PROTOCOL        the request wants to leave HTTP: websocket, spdy/3.1

  --config FILE             explain by this configuration, asking its Keystone,
                            issuers and API server
  --server URL              ask the Stonegate there, as an administrator
  --admin-token-file FILE   the administrator's token
  --ca-file FILE            the authority of the server's certificate; without
                            it the system's
  --context NAME            ask the Stonegate of this context, as its user;
                            without it, --config and --server, of the current
  --kubeconfig FILE         instead of KUBECONFIG or ~/.kube/config

  -o, --output FORMAT       table, json or yaml
  --help                    this text

An administrator may "create explanations.stonegate.dev" for the whole cluster.
Exit codes: 0 explained, whatever the outcome; 1 it could not be; 2 wrong usage.
`;

const OPTIONS = {
  ...REQUEST_OPTIONS,
  'token-file': VALUE,
  config: VALUE,
  server: VALUE,
  'ca-file': VALUE,
  'admin-token-file': VALUE,
  context: VALUE,
  kubeconfig: VALUE,
  output: OUTPUT_OPTION,
} as const;

const COMMAND = { usage: USAGE, options: OPTIONS, words: REQUEST_VERBS } as const;

/**
 * Explains the request with the components of the configuration in a file.
 *
 * @param note receives each line that the components log
 */
export type ExplainWith = (
  file: string,
  spec: ExplanationSpec,
  note: (line: string) => void,
) => Promise<Explanation>;

type Values = OptionValues<typeof OPTIONS>;

export const explain = createCommand(
  COMMAND,
  async ({ values, words, note, io }, explainWith: ExplainWith) => {
    const { config, server, context } = values;
    if ([config, server, context].filter((value) => value !== undefined).length > 1)
      throw new UsageError('--config, --server and --context exclude each other');
    const token = await readGivenToken('--token-file', values['token-file']);
    const explanation = await (config === undefined
      ? askServer(words, values, token)
      : explainWith(config, specOf(requestOf(words, values), token), (line) => io.stderr(`${line}\n`)));
    await print(explanation, values.output, () => explanationTable(explanation), io.stdout);
    for (const warning of explanation.status.warnings ?? []) note(warning);
  },
);

function specOf(request: ExplanationSpec['request'], token: string | undefined): ExplanationSpec {
  return { request, ...(token !== undefined && { token }) };
}

/** @param token the context's token is explained if it is undefined */
async function askServer(
  words: readonly string[],
  values: Values,
  token: string | undefined,
): Promise<Explanation> {
  const { server, 'admin-token-file': tokenFile } = values;
  // A mistake in the words is reported before anyone logs in.
  requestOf(words, values);
  const flags = { ...values, 'token-file': tokenFile };
  const destination = await destinationOf(flags, process.env, '--admin-token-file');
  const [, own] = /^Bearer (.*)/.exec(destination.authorization ?? '') ?? [];
  if (server === undefined && token === undefined && own === undefined)
    throw new UsageError('the context has no token: name one with --token-file');
  const explained = token ?? (server === undefined ? own : undefined);
  const spec = specOf(requestOf(words, values, destination.namespace), explained);
  try {
    return await createOwnObjectClient<Explanation>(destination, EXPLANATIONS).create(spec);
  } catch (error) {
    if (!(error instanceof StonegateAPIError) || error.status !== 403) throw error;
    const { message, status, remarks } = error;
    throw new StonegateAPIError(message, { status, remarks: [...WITHOUT_THE_RIGHT, ...remarks] });
  }
}

const WITHOUT_THE_RIGHT = [
  'Explanations are for operators: ask one to explain the request, or for the right to "create explanations.stonegate.dev".',
  'What you may do yourself: stonegate access',
];

const WORDS: Readonly<Record<Decision | 'accepted' | 'passedOn', string>> = {
  passed: 'passed',
  refused: 'REFUSED',
  notReached: '-',
  unknown: 'unknown',
  accepted: 'accepted',
  passedOn: 'passed on',
};

function explanationTable({ spec, status }: Explanation): string {
  const { method, path } = spec.request;
  const stages = status.stages.flatMap(({ name, decision, reason, parts = [] }) => [
    [name, WORDS[decision], reason],
    ...parts.map((part) => [`  ${part.name}`, WORDS[part.decision], part.reason]),
  ]);
  return [
    factRows([
      ['Request', [`${method} ${path}`]],
      ['Credential', [status.credential]],
    ]),
    columns([['STAGE', 'DECISION', 'REASON'], ...stages]),
    factRows(resultFacts(status)),
  ].join('\n');
}

function resultFacts(status: Explanation['status']): [name: string, values: readonly string[]][] {
  const { refusal, user, tenant, upstreamPath, headers = [] } = status;
  return [
    ['Outcome', [outcomeWords(status)]],
    ['Answer', refusal === undefined ? [] : [`${refusal.httpStatus} ${refusal.code}: ${refusal.message}`]],
    ['Cause', refusal?.cause === undefined ? [] : [refusal.cause]],
    ['Tenant', tenant === undefined ? [] : [tenant]],
    ['User', user === undefined ? [] : [user.username]],
    ['Groups', user?.groups ?? []],
    ['Path', upstreamPath === undefined ? [] : [upstreamPath]],
    ['Headers', headers.map(({ name, value }) => (value === undefined ? name : `${name}: ${value}`))],
  ];
}

function outcomeWords({ outcome, refusal, stages }: Explanation['status']): string {
  if (refusal !== undefined) return `refused by ${refusal.stage}`;
  const review = stages.find(({ name }) => name === 'accessReview');
  return review?.decision === 'refused' ? `${outcome}, and refused by the API server` : outcome;
}
