/**
 * The variables, types and libraries that expressions may use in kube-apiserver 1.36.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/cel/environment;
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/cel
 */
import { Declarations, type Environment } from './declarations.ts';
import { declareAddresses } from './functions-addresses.ts';
import { declareFormats } from './functions-formats.ts';
import { declareLists } from './functions-lists.ts';
import { declareOptional } from './functions-optional.ts';
import { declarePatterns } from './functions-patterns.ts';
import { declareQuantities } from './functions-quantities.ts';
import { declareStandard } from './functions-standard.ts';
import { declareStrings } from './functions-strings.ts';
import { declareTimes } from './functions-times.ts';
import { declareVersions } from './functions-versions.ts';
import type { Type } from './types.ts';
import * as types from './types.ts';

function functions() {
  const declarations = new Declarations();
  declareStandard(declarations);
  declareTimes(declarations);
  declareOptional(declarations);
  declareStrings(declarations);
  declareLists(declarations);
  declarePatterns(declarations);
  declareVersions(declarations);
  declareAddresses(declarations);
  declareQuantities(declarations);
  declareFormats(declarations);
  return declarations.declarations();
}

const USER = types.struct('kubernetes.UserInfo');
const STRINGS = types.listOf(types.STRING);

const TYPE_NAMES: readonly Type[] = [
  types.BOOL,
  types.BYTES,
  types.DOUBLE,
  types.DURATION,
  types.INT,
  types.listOf(types.param('A')),
  types.mapOf(types.param('A'), types.param('B')),
  types.NULL,
  types.STRING,
  types.TIMESTAMP,
  types.typeOf(types.DYN),
  types.UINT,
  types.optionalOf(types.param('A')),
  types.struct('net.IP'),
  types.struct('net.CIDR'),
  types.struct('kubernetes.URL'),
  types.struct('kubernetes.Quantity'),
  types.struct('kubernetes.Semver'),
  types.struct('kubernetes.NamedFormat'),
];

const FIELDS = new Map([
  [
    USER.name,
    new Map([
      ['username', types.STRING],
      ['uid', types.STRING],
      ['groups', STRINGS],
      ['extra', types.mapOf(types.STRING, STRINGS)],
    ]),
  ],
]);

function createEnvironments(): Readonly<Record<'claims' | 'user', Environment>> {
  const shared = {
    functions: functions(),
    fields: FIELDS,
    typeNames: new Map(TYPE_NAMES.map((type) => [type.name, type])),
  };
  return {
    claims: { ...shared, variables: new Map([['claims', types.mapOf(types.STRING, types.ANY)]]) },
    user: { ...shared, variables: new Map([['user', USER]]) },
  };
}

let environments: ReturnType<typeof createEnvironments> | undefined;

/** The environments are made for the first expression, so that a process without any starts sooner. */
export function environmentOf(subject: 'claims' | 'user'): Environment {
  environments ??= createEnvironments();
  return environments[subject];
}
