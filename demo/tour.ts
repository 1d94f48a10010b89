/**
 * The tour: runs the steps over real connections and shows each request, its response and the API server's
 * view.
 */
import type { LoggedRequest } from '../test/support/apiserver/api-server.ts';
import { type Call, type Client, createClient } from './client.ts';
import { describeRequest } from './playground.ts';
import { STEPS } from './tour-steps.ts';

export interface TourOptions {
  /** Stonegate's URL. */
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** Context → token. */
  readonly tokens: Readonly<Record<string, string>>;
  /** Requests that have reached the API server; grows. */
  readonly requests: readonly LoggedRequest[];
  readonly print: (line: string) => void;
  /** Colours a line with the result of a step. */
  readonly paint?: (line: string, right: boolean) => string;
}

/** The functions that a step uses. */
export interface Guide {
  readonly client: Client;
  /** A call with the token of a context. */
  call(context: string, method: string, path: string, body?: object): Call & { readonly context: string };
  /**
   * Prints one exchange: what went out, what came back, and what the API server saw since the last one.
   *
   * @returns what the API server saw, each as `METHOD path as user`
   */
  show(call: Call & { readonly context: string }, cameBack: string): string[];
  /** Prints what arrived later on an open call. */
  tell(context: string, cameBack: string): void;
}

/** A step throws if a check fails. */
export interface Step {
  readonly title: string;
  run(guide: Guide): Promise<void>;
}

const CALL_TIMEOUT = 10_000;

/**
 * Runs every step, also after a failed one.
 *
 * @returns the titles of the failed steps
 */
export async function takeTour(options: TourOptions, steps: readonly Step[] = STEPS): Promise<string[]> {
  const { print, paint = (line) => line } = options;
  const guide = createGuide(options);
  const wrong: string[] = [];
  for (const [index, { title, run }] of steps.entries()) {
    print('');
    print(paint(`${index + 1}. ${title}`, true));
    guide.begin();
    try {
      await run(guide);
      if (guide.wasIdle()) print('   API server saw nothing');
    } catch (error) {
      wrong.push(title);
      print(paint(`   WRONG: ${error instanceof Error ? error.message : String(error)}`, false));
    }
  }
  return wrong;
}

/** Also tracks whether the API server saw no request since the step began. */
function createGuide({ url, ca, tokens, requests, print }: TourOptions): Guide & {
  begin(): void;
  wasIdle(): boolean;
} {
  let shown = requests.length;
  let idle = true;
  return {
    begin() {
      idle = true;
    },
    wasIdle: () => idle,
    client: createClient({ url, ca, timeout: CALL_TIMEOUT }),
    call(context, method, path, body) {
      const token = tokens[context];
      if (token === undefined) throw new Error(`${context} has no token`);
      return { context, token, method, path, ...(body && { body }) };
    },
    show({ context, method, path }, cameBack) {
      const seen = requests.slice(shown).filter(isForUser).map(describeRequest);
      shown = requests.length;
      print(`   ${context.padEnd(10)} > ${method} ${path}`);
      print(`   ${' '.repeat(10)} < ${cameBack}`);
      for (const line of seen) print(`   API server saw ${line}`);
      idle &&= seen.length === 0;
      return seen;
    },
    tell: (context, cameBack) => print(`   ${context.padEnd(10)} < ${cameBack}`),
  };
}

/** Excludes Stonegate's own requests, such as health probes. */
function isForUser({ url, headers }: LoggedRequest): boolean {
  return headers['impersonate-user'] !== undefined || url.startsWith('/apis/authorization.k8s.io/');
}
