/**
 * What answers lists and watches of all namespaces, for a configuration with the RBAC index.
 */
import type { AccessIndex, TokenSealer } from '../access/ports.ts';
import type { Verifier } from '../access/verification.ts';
import { isRBACAlone } from '../api/authorization-mode.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import { createSealingKey } from '../cache/sealing-key.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import {
  type AllNamespacesAnswerer,
  createAllNamespacesAnswerer,
} from '../pipeline/all-namespaces/answer-all-namespaces.ts';
import type { DiscoveryDocuments } from '../pipeline/discovery/discovery-documents.ts';
import type { AccessSubjects } from '../pipeline/rbac/access-subject.ts';
import type { WatchLifetimes } from '../pipeline/response/watch-lifetimes.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import type { Build } from './build.ts';
import { sealingSecrets } from './cache.ts';
import { ComponentType } from './component.ts';
import { createOwnUpstream } from './upstream.ts';

const KEY_BYTES = 32;

const SEALER = new ComponentType<TokenSealer>('sealer of continue tokens', {});

export interface ConfiguredAllNamespacesOptions {
  readonly access: AccessIndex;
  readonly subjects: AccessSubjects;
  readonly verifier: Pick<Verifier, 'sampleNamespaces'>;
  readonly discovered: DiscoveryDocuments;
  readonly mode: TenancyMode;
  readonly reviewer: AccessReviewer;
  readonly responseMemory: ResponseMemory;
  readonly lifetimes: WatchLifetimes;
}

export function createConfiguredAllNamespaces(
  build: Build,
  { reviewer, ...options }: ConfiguredAllNamespacesOptions,
): AllNamespacesAnswerer {
  const upstream = createOwnUpstream(build);
  const { authorizers, maxNamespaces } = build.loaded.configuration.access;
  return createAllNamespacesAnswerer({
    ...build.runtime,
    ...options,
    fetcher: upstream,
    streamer: upstream,
    sealer: createTokenSealer(build),
    reviewer: isRBACAlone(authorizers) ? undefined : reviewer,
    maxNamespaces,
    memory: options.responseMemory,
  });
}

/**
 * With the keys of the shared cache, so that each replica opens the others' tokens; without any, with one of
 * this process.
 */
export function createTokenSealer({ generation, loaded, runtime: { random } }: Build): TokenSealer {
  const secrets = sealingSecrets(loaded).map((secret) => Buffer.from(secret, 'base64'));
  return generation.component(SEALER, {
    fingerprint: [sealingSecrets(loaded)],
    create() {
      const [first = random.bytes(KEY_BYTES), ...others] = secrets;
      const key = createSealingKey(first, random);
      const keys = [key, ...others.map((secret) => createSealingKey(secret, random))];
      return {
        seal: (text, context) => key.seal(text, context),
        open(sealed, context) {
          for (const candidate of keys) {
            const text = candidate.open(sealed, context);
            if (text !== undefined) return text;
          }
          return undefined;
        },
      };
    },
  });
}
