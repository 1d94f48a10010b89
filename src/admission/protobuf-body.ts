/**
 * Refuses bodies in Kubernetes' protobuf if the API server numbers its fields differently: it would read another
 * object than the client wrote.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { isWorkload, type RequestInfo } from '../api/request-info.ts';
import { StatusError } from '../errors/status-error.ts';
import { headerValues } from '../lib/header-list.ts';
import type { AdmissionPlugin } from './admission.ts';

const PROTOBUF = /^\s*application\/vnd\.kubernetes\.protobuf\s*(?:;|,|$)/i;
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** @param isDecoded whether Stonegate reads the request's body itself and sends it on as JSON */
export function createProtobufBodyAdmission(isDecoded: (info: RequestInfo) => boolean): AdmissionPlugin {
  return {
    name: 'protobuf-body',
    admit({ method, headers }, info) {
      if (!info.isResourceRequest || WITHOUT_BODY.has(method)) return;
      if (!headerValues(headers, 'content-type').some((type) => PROTOBUF.test(type))) return;
      if (isWorkload(info) || isDecoded(info)) return;
      throw new StatusError(
        'MediaTypeUnsupported',
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
      );
    },
  };
}
