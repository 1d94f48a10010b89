/** The questions that users may ask about themselves, whatever rights they have. */
import t from 'tap';
import { readRequestInfo } from '../../../src/proxy/request/request-info.ts';
import { isGranted, selfReviewOf } from '../../../src/tenancy/self-review.ts';
import { eachRow } from '../../support/rows.ts';

t.test('a self review is created in the cluster, without a name', (t) =>
  eachRow(
    `
    POST | /apis/authorization.k8s.io/v1/selfsubjectaccessreviews              | access
    POST | /apis/authorization.k8s.io/v1/selfsubjectrulesreviews               | rules
    POST | /apis/authentication.k8s.io/v1/selfsubjectreviews                   | subject
    POST | /apis/authorization.k8s.io/v1/namespaces/a/selfsubjectaccessreviews | -
    PUT  | /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x            | -
    POST | /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x            | -
    GET  | /apis/authorization.k8s.io/v1/selfsubjectaccessreviews              | -
    POST | /apis/authorization.k8s.io/v1/subjectaccessreviews                  | -
    POST | /version                                                            | -`,
    (method, path, review) => {
      const info = readRequestInfo(method ?? '', path ?? '', { hasTenantsInPaths: false });
      t.equal(selfReviewOf(info) ?? '-', review, `${method} ${path}`);
    },
  ),
);

t.test('everybody may ask about themselves and read discovery, and nothing else', (t) =>
  eachRow(
    `
    create selfsubjectaccessreviews authorization.k8s.io        | yes
    create selfsubjectrulesreviews authorization.k8s.io         | yes
    create selfsubjectreviews authentication.k8s.io             | yes
    get selfidentity stonegate.dev                              | yes
    create selfsubjectaccessreviews authorization.k8s.io status | no
    get selfsubjectaccessreviews authorization.k8s.io           | no
    create selfsubjectaccessreviews authentication.k8s.io       | no
    create selfidentity stonegate.dev                           | no
    get pods                                                    | no
    get /version                                                | yes
    head /apis                                                  | yes
    post /version                                               | no
    get /metrics                                                | no`,
    (question = '', answer) => {
      const [verb = '', what = '', group = '', subresource = ''] = question.split(' ');
      const attributes = what.startsWith('/')
        ? { nonResourceAttributes: { verb, path: what } }
        : { resourceAttributes: { verb, group, resource: what, subresource } };
      t.equal(isGranted(attributes) ? 'yes' : 'no', answer, question);
    },
  ),
);
