/**
 * The port to Keystone. Implemented in `clients/keystone.ts`.
 */
import type { KeystoneToken } from '../api/keystone-v3.ts';

export interface KeystoneIdentity {
  /**
   * `GET /v3/auth/tokens`.
   *
   * @param signal ends the call
   * @returns undefined where Keystone does not know the token, or no longer
   * @throws StatusError KeystoneUnavailable where Keystone cannot be asked or its answer cannot be believed
   */
  validate(token: string, signal?: AbortSignal): Promise<KeystoneToken | undefined>;
}
