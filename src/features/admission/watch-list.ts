/**
 * Refuses watches that are to begin with a list (`sendInitialEvents`) if the API server ignores that: it
 * never sends the bookmark that ends the list, and an informer would wait for it for ever. The refusal is
 * that of a kube-apiserver without the feature, after which client-go lists and watches.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/internalversion/validation#ValidateListOptions
 */
import { StatusError } from '../../errors/status-error.ts';
import { firstParameter } from '../../lib/query.ts';
import type { AdmissionPlugin } from '../../proxy/admission.ts';

const FIELD = 'sendInitialEvents';
const MESSAGE = `Forbidden: ${FIELD} is forbidden for watch unless the WatchList feature gate is enabled`;

export const watchListAdmission: AdmissionPlugin = (_request, info) => {
  if (!info.isResourceRequest || info.verb !== 'watch') return;
  if (firstParameter(info.rawQuery, FIELD) === undefined) return;
  const causes = [{ reason: 'FieldValueForbidden', message: MESSAGE, field: FIELD }];
  throw new StatusError('ListOptionsInvalid', `ListOptions.meta.k8s.io "" is invalid: ${FIELD}: ${MESSAGE}`, {
    details: { group: 'meta.k8s.io', kind: 'ListOptions', causes },
  });
};
