/**
 * A response with status 403 that is not passed on before it is known what it says: it may be about
 * Stonegate's own rights, or hide an object from the user.
 */
import { type HeaderList, headerValue } from '../lib/header-list.ts';
import type { RelayHooks, Replacement, ResponseWriter, UpstreamRequest } from '../pipeline/ports.ts';
import { MAX_REFUSAL_BYTES } from './impersonation-refusal.ts';

export interface HeldRefusalOptions<Refusal> {
  readonly response: ResponseWriter;
  readonly hooks: RelayHooks;
  /** @returns what is not passed on at all; undefined for any other response */
  readonly read: (body: Buffer) => Refusal | undefined;
  /** As `onForbidden` of a request. */
  readonly replace?: UpstreamRequest['onForbidden'] | undefined;
}

const NOT_READ = Buffer.alloc(0);
/** They describe the body, or came with the refusal only. */
const OF_THE_REFUSAL: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'etag',
  'x-content-type-options',
]);

/** Holds a small JSON response with status 403; everything else passes at once, or is replaced at once. */
export class HeldRefusal<Refusal> implements ResponseWriter {
  readonly #options: HeldRefusalOptions<Refusal>;
  readonly #response: ResponseWriter;
  #head: readonly [number, HeaderList] | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #refusal: Refusal | undefined;
  #isReplaced = false;

  constructor(options: HeldRefusalOptions<Refusal>) {
    this.#options = options;
    this.#response = options.response;
  }

  /** What was recognized: then nothing of the response was passed on. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
  }

  get closed(): boolean {
    return this.#refusal !== undefined || this.#isReplaced || this.#response.closed;
  }

  writeHead(status: number, headers: HeaderList): void {
    this.#head = [status, headers];
    if (!isSmallRefusal(status, headers)) this.#pass(NOT_READ);
  }

  write(chunk: Uint8Array, onTaken?: () => void): boolean {
    if (this.#head === undefined) return this.#response.write(chunk, onTaken);
    this.#chunks.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    onTaken?.();
    return this.#bytes <= MAX_REFUSAL_BYTES || this.#pass(NOT_READ);
  }

  onDrain(callback: () => void): void {
    this.#response.onDrain(callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.#head !== undefined) {
      const body = Buffer.concat(this.#chunks);
      this.#refusal = this.#options.read(body);
      if (this.#refusal !== undefined) return;
      this.#pass(body);
      if (this.#isReplaced) return;
    }
    this.#response.end(chunk);
  }

  destroy(): void {
    this.#response.destroy();
  }

  /**
   * @param body as far as it was read
   * @returns whether more may be written at once
   */
  #pass(body: Buffer): boolean {
    if (this.#head === undefined) return true;
    const [status, headers] = this.#head;
    this.#head = undefined;
    const chunks = this.#chunks;
    this.#chunks = [];
    const replacement = status === 403 ? this.#options.replace?.(body) : undefined;
    if (replacement !== undefined) {
      this.#isReplaced = true;
      if (replacement !== 'withheld') this.#replace(headers, replacement);
      return true;
    }
    this.#response.writeHead(status, headers);
    this.#options.hooks.onHead(status);
    return chunks.length === 0 || this.#response.write(Buffer.concat(chunks));
  }

  #replace(received: HeaderList, { status, headers, body }: Replacement): void {
    const passed = received.filter(([name]) => !OF_THE_REFUSAL.has(name.toLowerCase()));
    this.#response.writeHead(status, [...passed, ...headers]);
    this.#options.hooks.onHead(status);
    this.#response.end(body);
  }
}

function isSmallRefusal(status: number, headers: HeaderList): boolean {
  if (status !== 403) return false;
  const type = headerValue(headers, 'content-type') ?? '';
  const encoded = headerValue(headers, 'content-encoding') !== undefined;
  return (
    type.startsWith('application/json') &&
    !encoded &&
    Number(headerValue(headers, 'content-length') ?? 0) <= MAX_REFUSAL_BYTES
  );
}
