/**
 * Runs a credential plugin of the user's kubeconfig as kubectl does.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { isJSONObject, readJSON } from '../../lib/json-object.ts';
import { ErrorWithRemarks } from '../command.ts';

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether the plugin may ask the user. */
  readonly mayAsk: boolean;
  readonly installHint: string | undefined;
}

export interface ExecToken {
  readonly token: string;
  /** Milliseconds since the epoch; undefined if the plugin does not say it. */
  readonly expiresAt: number | undefined;
}

/** @throws Error with a sentence for the user, which never contains the plugin's output */
export async function runExecPlugin(plugin: ExecPlugin): Promise<ExecToken> {
  const { apiVersion, command, args, mayAsk } = plugin;
  const info = { kind: 'ExecCredential', apiVersion, spec: { interactive: mayAsk } };
  const child = spawn(command, [...args], {
    stdio: [mayAsk ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  const [code, stdout] = await Promise.all([exitOf(child, plugin), text(child.stdout)]);
  if (code !== 0) throw new Error(`sign-in failed: ${basename(command)} ended with an error`);
  return tokenOf(stdout, plugin);
}

function exitOf(
  child: ReturnType<typeof spawn>,
  { command, installHint }: ExecPlugin,
): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(new ErrorWithRemarks(`${command} cannot be run: ${error.message}`, installHint?.split('\n')));
    });
    child.once('close', resolve);
  });
}

function tokenOf(stdout: string, { command, apiVersion }: ExecPlugin): ExecToken {
  const answer = readJSON(stdout);
  if (answer === undefined) throw new Error(`${command} printed no JSON`);
  if (!isJSONObject(answer) || answer.kind !== 'ExecCredential' || answer.apiVersion !== apiVersion)
    throw new Error(`${command} printed no ExecCredential of ${apiVersion}`);
  const { token, expirationTimestamp } = isJSONObject(answer.status) ? answer.status : {};
  if (typeof token !== 'string' || token === '') throw new Error(`${command} returned no token`);
  const end = Date.parse(String(expirationTimestamp));
  return { token, expiresAt: Number.isNaN(end) ? undefined : end };
}
