/**
 * The columns of a table of namespaces: of Kubernetes, and of Arktos, whose descriptions are older and which
 * shows the tenant.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */

export interface Column {
  readonly name: string;
  readonly type: 'string';
  readonly format: '' | 'name';
  readonly description: string;
  readonly priority: 0;
}

const NAME =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: ';
const AGE =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: ';

export function column(name: string, description: string, format: Column['format'] = ''): Column {
  return { name, type: 'string', format, description, priority: 0 };
}

const STATUS = column('Status', 'The status of the namespace');

const KUBERNETES = JSON.stringify([
  column(
    'Name',
    `${NAME}https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names`,
    'name',
  ),
  STATUS,
  column(
    'Age',
    `${AGE}https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata`,
  ),
]);

/** The first and the last column of Arktos' tables. */
export const ARKTOS_NAME = column(
  'Name',
  `${NAME}http://kubernetes.io/docs/user-guide/identifiers#names`,
  'name',
);
export const ARKTOS_AGE = column(
  'Age',
  `${AGE}https://git.k8s.io/community/contributors/devel/api-conventions.md#metadata`,
);

const ARKTOS = JSON.stringify([
  ARKTOS_NAME,
  STATUS,
  ARKTOS_AGE,
  column('Tenant', 'The tenant that the namespace belongs to'),
]);

/** The column definitions of a table, as JSON. */
export function columnDefinitions(showsTenant: boolean): string {
  return showsTenant ? ARKTOS : KUBERNETES;
}
