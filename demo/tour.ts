/**
 * The tour: walks through Stonegate over real connections and shows for each step what went out, what came
 * back, and what the API server saw of it.
 */
import type { LoggedRequest } from '../test/support/apiserver/api-server.ts';
import { type Call, type Client, createClient } from './client.ts';
import { describeRequest } from './request-log.ts';
import { STEPS } from './tour-steps.ts';

export interface TourOptions {
  /** Of Stonegate. */
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  /** Caller → token. */
  readonly tokens: Readonly<Record<string, string>>;
  /** What has reached the API server so far; it grows. */
  readonly requests: readonly LoggedRequest[];
  readonly print: (line: string) => void;
  /** Colours a line that says how a step went. */
  readonly paint?: (line: string, right: boolean) => string;
}

/** What a step has at hand. */
export interface Guide {
  readonly client: Client;
  /** A call in a caller's name. */
  call(caller: string, method: string, path: string, body?: object): Call & { readonly caller: string };
  /**
   * Prints one exchange: what went out, what came back, and what the API server saw since the last one.
   *
   * @returns what the API server saw, each as `METHOD path as user`
   */
  show(call: Call & { readonly caller: string }, cameBack: string): string[];
  /** Prints what came back later, on a call that stayed open. */
  tell(caller: string, cameBack: string): void;
}

/** Each step says in an error what was not right. */
export interface Step {
  readonly title: string;
  run(guide: Guide): Promise<void>;
}

const TIMEOUT = 10_000;

/**
 * Takes every step, also after one that was wrong.
 *
 * @returns the titles of the steps that were wrong
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

/** With whether the API server saw nothing since the step began. */
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
    client: createClient({ url, ca, timeout: TIMEOUT }),
    call(caller, method, path, body) {
      const token = tokens[caller];
      if (token === undefined) throw new Error(`${caller} has no token`);
      return { caller, token, method, path, ...(body && { body }) };
    },
    show({ caller, method, path }, cameBack) {
      const seen = requests.slice(shown).filter(isAboutPeople).map(describeRequest);
      shown = requests.length;
      print(`   ${caller.padEnd(10)} > ${method} ${path}`);
      print(`   ${' '.repeat(10)} < ${cameBack}`);
      for (const line of seen) print(`   API server saw ${line}`);
      idle &&= seen.length === 0;
      return seen;
    },
    tell: (caller, cameBack) => print(`   ${caller.padEnd(10)} < ${cameBack}`),
  };
}

/** Not what Stonegate asks for its own sake, such as whether the API server is there. */
function isAboutPeople({ url, headers }: LoggedRequest): boolean {
  return headers['impersonate-user'] !== undefined || url.startsWith('/apis/authorization.k8s.io/');
}
