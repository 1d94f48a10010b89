/**
 * A client of Stonegate's own API, for commands that call a running Stonegate. It sends a credential: plain
 * HTTP is allowed only to a loopback address, and redirects are not followed.
 */
import { Pool } from 'undici';
import { CLIENT_SETUP_PATH } from '../features/client-setup/client-setup-v1alpha1.ts';
import { type ImpersonatedUser, impersonationHeaders } from '../kubernetes/impersonation-headers.ts';
import { systemClock } from '../lib/clock.ts';
import { codeOf } from '../lib/error-code.ts';
import type { HeaderList } from '../lib/header-list.ts';
import { isJSONObject, type JSONObject, readJSON } from '../lib/json-object.ts';
import { isLoopback, trustSystemAuthorities } from '../lib/transport-security.ts';
import { ErrorWithRemarks } from './command.ts';

const MAX_BYTES = 4 * 1024 * 1024;
/** Milliseconds for the response; Stonegate may have to ask Keystone first. */
const TIMEOUT = 30_000;

export interface StonegateAddress {
  readonly url: string;
  /** PEM; undefined for the authorities of the system. */
  readonly ca: string | undefined;
  /** The name in the certificate, if it is not the address. */
  readonly serverName?: string | undefined;
  /** The header's value; undefined if a client certificate identifies the user. */
  readonly authorization?: string | undefined;
  /** When its token expires, in milliseconds since the epoch, if that is known beside the token. */
  readonly tokenExpiresAt?: number | undefined;
  /** Takes the warnings of responses. */
  readonly onWarning?: ((text: string) => void) | undefined;
  /** The client's certificate and key, PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** The user as whom the requests are made, if it is another than the credential's. */
  readonly impersonated?: ImpersonatedUser | undefined;
}

/** Stonegate was not reached, or it refused; the message is for the user. */
export class StonegateAPIError extends ErrorWithRemarks {
  /** The status of the response; undefined if there was none. */
  readonly status: number | undefined;
  /** Node's or OpenSSL's code, if there was no response. */
  readonly code: string | undefined;

  constructor(message: string, { status, code, remarks }: APIErrorDetails = {}) {
    super(message, remarks);
    this.status = status;
    this.code = code;
  }
}

interface APIErrorDetails {
  readonly status?: number;
  readonly code?: string | undefined;
  readonly remarks?: readonly string[];
}

/** Without one a body is posted, and no body is a GET. */
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * @param path below the server's address
 * @param body sent as JSON
 * @returns the JSON of a 2xx response
 * @throws StonegateAPIError
 */
export async function askStonegate(
  address: StonegateAddress,
  path: string,
  body?: object,
  method?: Method,
): Promise<unknown> {
  try {
    return await ask(address, path, body, method);
  } catch (error) {
    if (!(error instanceof StonegateAPIError) || error.status !== 401) throw error;
    const { message, status, remarks } = error;
    throw new StonegateAPIError(message, { status, remarks: [...(await whyRefused(address)), ...remarks] });
  }
}

/** Why the token was refused, as far as it tells itself: the 401 does not say. */
async function whyRefused({
  authorization,
  tokenExpiresAt,
  ...server
}: StonegateAddress): Promise<readonly string[]> {
  const [, token] = /^Bearer (.*)/.exec(authorization ?? '') ?? [];
  if (token === undefined) return [];
  const { refusalReasons } = await import('./refused-token.ts');
  const { url, ca, serverName } = server;
  const setup = ask({ url: new URL(url).origin, ca, serverName }, CLIENT_SETUP_PATH, undefined);
  return refusalReasons(token, {
    expiresAt: tokenExpiresAt,
    now: systemClock.now(),
    // Without the document, the token alone tells.
    setup: await setup.catch((error: unknown) => {
      if (!(error instanceof StonegateAPIError)) throw error;
      return undefined;
    }),
  });
}

/**
 * Reads what the server says without knowing that it is the server: only to show it to the user. No
 * credential is sent.
 */
export function askUnverified(url: string, path: string): Promise<unknown> {
  return ask({ url, ca: undefined }, path, undefined, 'GET', false);
}

async function ask(
  address: StonegateAddress,
  path: string,
  body: object | undefined,
  method: Method = body === undefined ? 'GET' : 'POST',
  rejectUnauthorized = true,
): Promise<unknown> {
  const url = safeURL(address.url);
  const { ca, serverName, certificate } = address;
  trustSystemAuthorities();
  const pool = new Pool(url.origin, {
    connect: {
      timeout: TIMEOUT,
      rejectUnauthorized,
      ...(ca !== undefined && { ca }),
      ...(serverName !== undefined && { servername: serverName }),
      ...certificate,
    },
    headersTimeout: TIMEOUT,
    bodyTimeout: TIMEOUT,
    maxResponseSize: MAX_BYTES,
  });
  try {
    const {
      statusCode,
      headers,
      body: response,
    } = await pool.request({
      method,
      path: `${url.pathname.replace(/\/+$/, '')}${path}`,
      headers: headersOf(address, body !== undefined).flat(),
      body: body === undefined ? null : JSON.stringify(body),
    });
    for (const text of warningsIn(headers.warning)) address.onWarning?.(text);
    return readResponse(statusCode, await response.text(), headers['audit-id'], url);
  } catch (error) {
    if (error instanceof StonegateAPIError) throw error;
    throw new StonegateAPIError(`${url.origin} cannot be asked: ${reasonOf(error)}`, { code: codeOf(error) });
  } finally {
    await pool.destroy();
  }
}

/** The texts that Stonegate sends. RFC 7234 §5.5. */
function warningsIn(values: string | string[] = []): string[] {
  return [values].flat().flatMap((value) => {
    const text = readJSON(/^299 - (".*")$/.exec(value)?.[1] ?? '');
    return typeof text === 'string' ? [text] : [];
  });
}

export const API_VERSION = 'stonegate.dev/v1alpha1';

/**
 * Asks for an object of Stonegate's own API. Only the API's version is compared, since both sides are of one
 * program.
 *
 * @throws StonegateAPIError
 */
export async function askFor<Answer extends object>(
  address: StonegateAddress,
  path: string,
  body?: object,
  method?: Method,
): Promise<Answer> {
  const answer = await askStonegate(address, path, body, method);
  if (isOwn<Answer>(answer)) return answer;
  throw new StonegateAPIError(`${address.url} is no Stonegate`);
}

function isOwn<Answer extends object>(value: unknown): value is Answer & JSONObject {
  return isJSONObject(value) && value.apiVersion === API_VERSION;
}

function headersOf({ authorization, impersonated }: StonegateAddress, hasBody: boolean): HeaderList {
  return [
    ['Accept', 'application/json'],
    ['User-Agent', 'stonegate'],
    ...(authorization === undefined ? [] : [['Authorization', authorization] as const]),
    ...(impersonated === undefined ? [] : impersonationHeaders(impersonated)),
    ...(hasBody ? [['Content-Type', 'application/json'] as const] : []),
  ];
}

function safeURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new StonegateAPIError(`${JSON.stringify(text)} is no address of a server`);
  if (url.protocol === 'http:' && !isLoopback(url))
    throw new StonegateAPIError(`${url.origin} is not https: the credential would travel in the clear`);
  return url;
}

function readResponse(
  status: number,
  text: string,
  auditID: string | string[] | undefined,
  { origin }: URL,
): unknown {
  const response = readJSON(text);
  if (status >= 200 && status < 300 && response !== undefined) return response;
  const logged =
    isJSONObject(response) && typeof response.message === 'string' ? response.message : undefined;
  throw new StonegateAPIError(
    logged === undefined
      ? `${origin} answered ${status}, and not as Stonegate would`
      : `${logged.replaceAll('\n', ' ')} (${status})`,
    { status, remarks: auditID === undefined ? [] : [`Audit-ID: ${auditID}`] },
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
