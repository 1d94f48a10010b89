/**
 * What is admitted of a request that its user may make: rules about its form that are cheaper to hold here than
 * to let the API server discover. A plugin refuses by throwing.
 */
import type { RequestInfo } from '../api/request-info.ts';
import type { HeaderList } from '../lib/header-list.ts';

export interface AdmittedRequest {
  readonly method: string;
  readonly headers: HeaderList;
}

export interface AdmissionPlugin {
  readonly name: string;
  /** @throws StatusError */
  admit(request: AdmittedRequest, info: RequestInfo): void;
}
