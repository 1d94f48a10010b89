/**
 * Refuses watches that are to begin with a list (`sendInitialEvents`) if the API server ignores that: it
 * never sends the bookmark that ends the list, and an informer would wait for it for ever. The message is
 * that of a kube-apiserver without the feature, after which client-go lists and watches.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/internalversion/validation#ValidateListOptions
 */

import type { StatusCause } from '../../errors/status.ts';
import { StatusError } from '../../errors/status-error.ts';
import { firstParameter } from '../../lib/query.ts';
import type { AdmissionPlugin } from '../../proxy/admission.ts';

const NOT_OLDER_THAN = 'NotOlderThan';

export const watchListAdmission: AdmissionPlugin = {
  name: 'watch-list',
  admit(_request, info) {
    if (!info.isResourceRequest || info.verb !== 'watch') return;
    const causes = faultsOf(info.rawQuery);
    if (causes.length === 0) return;
    throw new StatusError(
      'ListOptionsInvalid',
      `ListOptions.meta.k8s.io "" is invalid: ${aggregated(causes)}`,
      { details: { group: 'meta.k8s.io', kind: 'ListOptions', causes } },
    );
  },
};

function faultsOf(query: string): StatusCause[] {
  const match = firstParameter(query, 'resourceVersionMatch') ?? '';
  const sendsInitialEvents = firstParameter(query, 'sendInitialEvents') !== undefined;
  const faults: StatusCause[] = [];
  if (sendsInitialEvents && match !== NOT_OLDER_THAN)
    faults.push(ofMatch(`sendInitialEvents requires setting resourceVersionMatch to ${NOT_OLDER_THAN}`));
  if (sendsInitialEvents)
    faults.push(
      forbidden(
        'sendInitialEvents',
        'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
      ),
    );
  if (match === '') return faults;
  if (!sendsInitialEvents)
    faults.push(ofMatch('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
  if (match !== NOT_OLDER_THAN) faults.push(unsupported(match));
  if ((firstParameter(query, 'continue') ?? '') !== '')
    faults.push(ofMatch('resourceVersionMatch is forbidden when continue is provided'));
  return faults;
}

function ofMatch(detail: string): StatusCause {
  return forbidden('resourceVersionMatch', detail);
}

function forbidden(field: string, detail: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${detail}`, field };
}

function unsupported(value: string): StatusCause {
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: "${NOT_OLDER_THAN}"`,
    field: 'resourceVersionMatch',
  };
}

/** As apimachinery says several faults: in brackets, each once. */
function aggregated(causes: readonly StatusCause[]): string {
  const faults = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))];
  return faults.length === 1 ? faults.join('') : `[${faults.join(', ')}]`;
}
