/**
 * A list of all namespaces that a user may list: each namespace is listed as the user, and the lists are
 * merged. See docs/access.md, "All-namespaces requests".
 */

import { StatusError } from '../../errors/status-error.ts';
import {
  type ContinueScope,
  continueToken,
  expiredContinue,
  invalidContinue,
  readContinueToken,
} from '../../kubernetes/lists/continue-token.ts';
import { digitsIn, withDigits } from '../../kubernetes/lists/shown-revision.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { MalformedJSON } from '../../lib/json-scan.ts';
import { TooLarge } from '../../limits/byte-budget.ts';
import { JSON_HEADERS, relayedResponse } from '../../proxy/response/own-responses.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import {
  collectPage,
  type MergedPage,
  type MergedPosition,
  type PartRequest,
  type PartResult,
} from './collect-page.ts';
import { type ListPart, mergeParts, readListPart } from './list-part.ts';
import { listTooLarge, MergeMemory, type MergeMemoryOptions, NoRoom } from './merge-memory.ts';
import { NamespaceRefused } from './namespace-refused.ts';
import {
  type AllNamespacesRequest,
  type NamespaceRequestOptions,
  namespaceRequest,
  UnexpectedNamespaceResponse,
} from './namespace-request.ts';

export interface MergedListOptions extends NamespaceRequestOptions, MergeMemoryOptions {
  readonly mode: NamespaceRequestOptions['mode'] & Pick<TenancyMode, 'listsAtRevision'>;
  readonly fetcher: UpstreamFetcher;
}

interface KnownPart {
  readonly asked: PartRequest;
  readonly part: ListPart;
}

/** One list. What it has of single namespaces outlasts a refused namespace, if it is small. */
export class MergedList {
  readonly #options: MergedListOptions;
  readonly #memory: MergeMemory;
  readonly #parts = new Map<string, KnownPart>();
  #isMerged = false;

  /** @param tenant to which it is charged */
  constructor(options: MergedListOptions, tenant: string) {
    this.#options = options;
    this.#memory = new MergeMemory(options, tenant);
  }

  /**
   * @param first the namespace that was refused before
   * @returns undefined if the API server has none of the namespaces: then the request is forwarded as it is
   * @throws NamespaceRefused; StatusError RequestMalformed (`continue`), ResourceExpired, ListTooLarge,
   *   TenantRateExceeded, UpstreamUnavailable, UpstreamTimeout, UpstreamRefusedCredential
   */
  async respond(
    request: AllNamespacesRequest,
    first: string | undefined,
  ): Promise<UpstreamResponse | undefined> {
    const from = startOf(request);
    this.#forgetOthers(request.permitted.names);
    try {
      return this.#merge(request, from, await this.#pageInTurn(request, from, first));
    } catch (error) {
      if (error instanceof UnexpectedNamespaceResponse) return relayedResponse(error.response);
      if (error instanceof MalformedJSON) throw unreadable(error);
      // Others take their turns while the namespace is refused.
      if (error instanceof NamespaceRefused && this.#memory.hasTurn) this.#forgetAll();
      throw error;
    }
  }

  /** Call it if there will be no other attempt; a list that is merged keeps its memory. */
  close(): void {
    if (!this.#isMerged) this.#memory.release();
  }

  #merge(
    request: AllNamespacesRequest,
    from: MergedPosition | undefined,
    page: MergedPage,
  ): UpstreamResponse | undefined {
    const { digits } = request.permitted;
    const [first, ...others] = page.parts;
    if (first === undefined) {
      if (from !== undefined) throw expiredContinue();
      return undefined;
    }
    const more = page.next && { continue: continueToken(scopeOf(request), { ...page.next, digits }) };
    const resourceVersion = withDigits(page.revision ?? first.revision, digits);
    const body = mergeParts([first, ...others], { resourceVersion, ...more });
    this.#isMerged = true;
    return { status: 200, headers: JSON_HEADERS, body, release: this.#memory.merged() };
  }

  async #pageInTurn(
    request: AllNamespacesRequest,
    from: MergedPosition | undefined,
    first: string | undefined,
  ): Promise<MergedPage> {
    for (;;) {
      try {
        return await this.#page(request, from, first);
      } catch (error) {
        if (!(error instanceof NoRoom)) throw error;
        this.#parts.clear();
        await this.#memory.wait(error, request.outgoing.exchange.signal);
      }
    }
  }

  async #page(
    request: AllNamespacesRequest,
    from: MergedPosition | undefined,
    first: string | undefined,
  ): Promise<MergedPage> {
    const { permitted, options: asked } = request;
    const limit = asked.limit === 0 ? undefined : asked.limit;
    const { listsAtRevision } = this.#options.mode;
    const attempts = from === undefined ? 2 : 1;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const begun = from ?? this.#begun();
      if (first !== undefined && permitted.names.includes(first)) {
        const revision = listsAtRevision ? begun?.revision : undefined;
        await this.#part(request, { namespace: first, limit, revision, more: undefined });
      }
      const page = await collectPage(
        { namespaces: permitted.names, limit, from: begun ?? this.#begun(), listsAtRevision },
        (part) => this.#part(request, part),
      );
      if (page !== 'expired') return page;
      this.#forgetAll();
    }
    throw expiredContinue();
  }

  /** Where a list goes on that has begun: all parts are of one revision. */
  #begun(): MergedPosition | undefined {
    const [known] = this.#parts.values();
    return known && { namespace: '', revision: known.part.revision };
  }

  async #part(request: AllNamespacesRequest, asked: PartRequest): Promise<PartResult> {
    const { namespace, limit, more } = asked;
    const known = this.#parts.get(namespace);
    if (known !== undefined && known.asked.limit === limit && known.asked.more === more) return known.part;
    const body = await this.#list(request, asked);
    if (typeof body === 'string') return body;
    this.#forget(namespace);
    this.#memory.take(body.length);
    const part = readListPart(body);
    this.#parts.set(namespace, { asked, part });
    return part;
  }

  async #list(
    { outgoing, info, revision: asked }: AllNamespacesRequest,
    { namespace, limit, revision, more }: PartRequest,
  ): Promise<Buffer | Exclude<PartResult, ListPart>> {
    const parameters = {
      ...(asked !== '0' && { resourceVersion: asked }),
      limit: limit === undefined ? undefined : String(limit),
      continue: more,
      ...(more !== undefined && { resourceVersion: undefined, resourceVersionMatch: undefined }),
      ...(revision !== undefined && { resourceVersion: revision, resourceVersionMatch: 'Exact' }),
    };
    const request = await namespaceRequest(outgoing, info, namespace, parameters, this.#options);
    const { fetcher } = this.#options;
    const response = await fetcher
      .fetch(request, outgoing.exchange.signal)
      .catch((error) => this.#failed(error));
    switch (response.status) {
      case 200:
        return response.body;
      case 403:
        throw new NamespaceRefused(namespace);
      case 404:
        return 'gone';
      case 410:
        return 'expired';
      default:
        throw new UnexpectedNamespaceResponse(response);
    }
  }

  /** What is too much for the tenant at the same time as other lists is tried again in turn. */
  #failed(error: unknown): never {
    if (!(error instanceof StatusError)) throw error;
    if (error.cause instanceof TooLarge) throw listTooLarge(error);
    if (error.code === 'TenantRateExceeded' && !this.#memory.hasTurn) throw this.#memory.noRoom();
    throw error;
  }

  #forgetOthers(permitted: readonly string[]): void {
    const names = new Set(permitted);
    for (const name of this.#parts.keys()) if (!names.has(name)) this.#forget(name);
  }

  #forget(namespace: string): void {
    const known = this.#parts.get(namespace);
    if (known === undefined) return;
    this.#parts.delete(namespace);
    this.#memory.giveBack(known.part.text.length);
  }

  #forgetAll(): void {
    this.#parts.clear();
    this.#memory.release();
  }
}

function scopeOf({ outgoing: { tenant, user }, info, options }: AllNamespacesRequest): ContinueScope {
  return { tenant, user, path: info.rawPath, options };
}

/** @returns undefined for the first page */
function startOf(request: AllNamespacesRequest): MergedPosition | undefined {
  const { options, permitted, revision: asked } = request;
  const { continue: token, resourceVersion, resourceVersionMatch } = options;
  if (token === '') {
    const isOther = asked !== resourceVersion && digitsIn(resourceVersion) !== permitted.digits;
    if (resourceVersionMatch === 'Exact' && isOther) throw expiredContinue();
    return undefined;
  }
  const { digits, namespace, revision, more } = readContinueToken(scopeOf(request), token);
  if (typeof namespace !== 'string' || typeof revision !== 'string') throw invalidContinue();
  if (!/^[0-9]{1,20}$/.test(revision) || (more !== undefined && typeof more !== 'string'))
    throw invalidContinue();
  if (digits !== permitted.digits) throw expiredContinue();
  return { namespace, revision, ...(more !== undefined && { more }) };
}

function unreadable(cause: unknown): StatusError {
  return new StatusError(
    'UpstreamUnavailable',
    'the API server answered a list with something that cannot be read',
    {
      cause,
    },
  );
}
