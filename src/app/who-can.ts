/**
 * Who can do something: the RBAC index, Stonegate's own user name, and Keystone's names if there is a service
 * credential.
 */
import type { AccessIndex } from '../access/ports.ts';
import type { WhoCanOptions } from '../access/who-can.ts';
import { createKeystoneNames } from '../clients/keystone-names.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { Answerer } from '../pipeline/delivery.ts';
import { createWhoCanAnswerer } from '../pipeline/own-api/answer-who-can.ts';
import type { UpstreamResponse } from '../pipeline/ports.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { ownUserName } from '../upstream/credential.ts';
import type { Build } from './build.ts';
import { createKeystone } from './keystone.ts';
import { ownCredential } from './upstream.ts';

/** The longest body of a review. */
const REVIEW_BYTES = 64 * 1024;

export function createWhoCan(
  build: Build,
  access: AccessIndex,
  mode: TenancyMode,
  responseMemory: ResponseMemory,
): Answerer<UpstreamResponse> {
  const { clock } = build.runtime;
  const { body: bodyTimeout } = build.loaded.configuration.server.timeouts;
  const limits = { bodyBytes: REVIEW_BYTES, bodyTimeout };
  return createWhoCanAnswerer({ ...whoCanOptions(build, access), mode, clock, limits, responseMemory });
}

function whoCanOptions(build: Build, access: AccessIndex): WhoCanOptions {
  const { loaded, runtime } = build;
  const { keystone } = loaded.configuration.authentication;
  const directory = keystone && createKeystone(build, keystone).client.directory;
  return {
    access,
    ownUserName: ownUserName(ownCredential(loaded)),
    ...(directory && { keystone: createKeystoneNames({ directory, clock: runtime.clock }) }),
  };
}
