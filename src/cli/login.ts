/**
 * `stonegate login`: the credential plugin that kubectl runs before each call. Standard output has one
 * ExecCredential, or at a terminal who is logged in; messages go to standard error.
 */
import { systemClock } from '../lib/clock.ts';
import { columns, createCommand, FLAG } from './command.ts';
import { withCachedLogin } from './login/cached-login.ts';
import { obtainCredential } from './login/credential.ts';
import { readExecInfo, writeExecCredential } from './login/exec-credential.ts';
import { LOGIN_OPTIONS, LOGIN_USAGE } from './login/login-options.ts';
import { renewAt } from './login/token-cache.ts';

const OPTIONS = { ...LOGIN_OPTIONS, force: FLAG, print: FLAG } as const;

export const login = createCommand({ usage: LOGIN_USAGE, options: OPTIONS }, async (call) => {
  const { argv, io } = call;
  const { force = false, print = false, ...values } = call.values;
  const { KUBERNETES_EXEC_INFO: info } = process.env;
  const { apiVersion, mayAsk } = readExecInfo(info);
  const caller = info === undefined ? undefined : String(process.ppid);
  const credential = await withCachedLogin(argv, values, mayAsk, (cached) =>
    obtainCredential({ ...cached, force, caller }),
  );
  // Some clients run the command as kubectl does, but without the variable.
  if (info === undefined && process.stdout.isTTY && !print) {
    const { holder = 'an unknown user', expiresAt } = credential;
    io.stdout(columns([[`logged in until ${new Date(expiresAt).toISOString()}: ${holder}`]]));
    return;
  }
  // kubectl runs the plugin again when the cache renews the token, not when the token expires during a
  // request.
  const renewal = renewAt(credential);
  const expiresAt = systemClock.now() < renewal ? renewal : credential.expiresAt;
  io.stdout(writeExecCredential(apiVersion, { token: credential.token, expiresAt }));
});
