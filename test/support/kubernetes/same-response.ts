/** Sends the same request through Stonegate and directly, as the same user. */
import type { Test } from 'tap';
import { eventually } from '../eventually.ts';
import type { Ask, Reply } from '../https-client.ts';
import type { Credential } from '../kubeconfig.ts';
import type { KubernetesSite } from './site.ts';

export interface User {
  /** The credential for Stonegate. */
  readonly token: string;
  /** The credential for the API server. */
  readonly credential: Credential;
}

/** The parts of the head that clients rely on. */
function relevant({ status, headers }: Reply) {
  return {
    status,
    type: headers['content-type'],
    encoding: headers['content-encoding'],
    vary: headers.vary,
    warning: headers.warning,
  };
}

/** Asserts that both responses have the same head and body. @returns Stonegate's */
export async function sameResponse(
  t: Test,
  { stonegate, kubernetes }: KubernetesSite,
  { token, credential }: User,
  path: string,
  options?: Ask,
): Promise<Reply> {
  const read = async () => ({
    before: await kubernetes.ask(credential, path, options),
    through: await stonegate.ask(token, path, options),
    after: await kubernetes.ask(credential, path, options),
  });
  let { before, through, after } = await read();
  // The revision in a list and the ages in a table change by themselves, so the requests are repeated.
  await eventually(async () => {
    if (before.bytes.equals(after.bytes)) return true;
    ({ before, through, after } = await read());
    return false;
  });
  // Short bodies are compared as text, which shows the difference.
  if (after.bytes.length < 4_096) t.equal(through.body, after.body, `${path} has the same body`);
  else t.ok(through.bytes.equals(after.bytes), `${path} has the same body`);
  t.same(relevant(through), relevant(after), `${path} has the same head`);
  return through;
}
