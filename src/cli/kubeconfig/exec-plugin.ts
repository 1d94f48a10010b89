/**
 * Runs a user's credential plugin as kubectl does: no shell, its words on standard error, one ExecCredential on
 * standard output. Nothing is kept: the plugin has a cache of its own.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Fields, fieldsOf, isFields, listOf, optionalText } from './fields.ts';

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it may ask the person something. */
  readonly mayAsk: boolean;
  readonly installHint: string | undefined;
}

/** What is wrong with the plugin, in a sentence for the person; never what it printed. */
export class ExecPluginError extends Error {}

/** @param folder of the kubeconfig, from which a command with a slash is named */
export function readExecPlugin(exec: Fields, folder: string): ExecPlugin {
  const command = optionalText(exec, 'command');
  if (command === undefined) throw new ExecPluginError('the exec of the user names no command');
  const env = listOf(exec, 'env').flatMap((each) => {
    const { name, value } = isFields(each) ? each : {};
    return typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [];
  });
  return {
    apiVersion: optionalText(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    command: command.includes('/') ? resolve(folder, command) : command,
    args: listOf(exec, 'args').filter((arg) => typeof arg === 'string'),
    env: Object.fromEntries(env),
    mayAsk: optionalText(exec, 'interactiveMode') !== 'Never' && process.stdin.isTTY === true,
    installHint: optionalText(exec, 'installHint'),
  };
}

/**
 * @returns the token
 * @throws ExecPluginError
 */
export async function runExecPlugin(plugin: ExecPlugin): Promise<string> {
  const { apiVersion, command, args, mayAsk } = plugin;
  const info = { kind: 'ExecCredential', apiVersion, spec: { interactive: mayAsk } };
  const child = spawn(command, [...args], {
    stdio: [mayAsk ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  const [code, stdout] = await Promise.all([exitOf(child, plugin), text(child.stdout)]);
  if (code !== 0) throw new ExecPluginError(`${command} ended with ${code ?? 'a signal'}`);
  return tokenOf(stdout, plugin);
}

function exitOf(
  child: ReturnType<typeof spawn>,
  { command, installHint }: ExecPlugin,
): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      const hint = installHint === undefined ? '' : `\n${installHint}`;
      reject(new ExecPluginError(`${command} cannot be run: ${error.message}${hint}`));
    });
    child.once('close', resolve);
  });
}

function tokenOf(stdout: string, { command, apiVersion }: ExecPlugin): string {
  let answer: unknown;
  try {
    answer = JSON.parse(stdout);
  } catch {
    // The parser's own message quotes what it read, which may be the token.
    throw new ExecPluginError(`${command} printed no JSON`);
  }
  if (!isFields(answer) || answer.kind !== 'ExecCredential' || answer.apiVersion !== apiVersion)
    throw new ExecPluginError(`${command} printed no ExecCredential of ${apiVersion}`);
  const token = optionalText(fieldsOf(answer, 'status'), 'token');
  if (token === undefined) throw new ExecPluginError(`${command} gave no token`);
  return token;
}
