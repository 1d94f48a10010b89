/**
 * The fields of a pod that the Pod Security Standards judge, read from an untrusted object. Absent security
 * contexts are read as empty ones, so that a path is there for what is missing.
 */
import { ObjectReader } from '../object-reader.ts';
import type { PodPart } from '../pod-part.ts';
import type { Violation } from '../violation.ts';

export interface Pod {
  readonly path: string;
  readonly annotationsPath: string;
  readonly annotations: ReadonlyMap<string, string>;
  /** `spec.os.name`. */
  readonly os: string | undefined;
  readonly hostUsers: boolean | undefined;
  readonly hostNetwork: boolean | undefined;
  readonly hostPID: boolean | undefined;
  readonly hostIPC: boolean | undefined;
  readonly securityContext: SecurityContext;
  readonly sysctls: readonly Named[];
  readonly volumes: readonly Volume[];
  /** Init containers, containers and ephemeral containers, in the order of the standards' messages. */
  readonly containers: readonly Container[];
}

export interface Named {
  readonly path: string;
  readonly name: string;
}

export interface Container extends Named {
  readonly securityContext: SecurityContext;
  readonly hostPorts: readonly { readonly path: string; readonly port: number }[];
  /** Hosts of probes and of lifecycle handlers. */
  readonly hosts: readonly { readonly path: string; readonly host: string }[];
}

/** Of a pod or of a container: fields that the other alone has are absent. */
export interface SecurityContext {
  readonly path: string;
  readonly privileged: boolean | undefined;
  readonly allowPrivilegeEscalation: boolean | undefined;
  readonly runAsNonRoot: boolean | undefined;
  readonly runAsUser: number | undefined;
  readonly procMount: string | undefined;
  readonly addedCapabilities: readonly string[];
  readonly droppedCapabilities: readonly string[];
  /** Its type: empty if the profile has none, undefined if there is no profile. */
  readonly seccompProfile: string | undefined;
  /** The same. */
  readonly appArmorProfile: string | undefined;
  readonly seLinuxOptions: Readonly<Record<SELinuxOption, string>>;
  readonly hostProcess: boolean | undefined;
}

export type SELinuxOption = 'type' | 'user' | 'role';

/** Sources of volumes that the restricted standard allows. */
export const ALLOWED_SOURCES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
] as const;

export interface Volume extends Named {
  /** Fields of the volume that are there, with their values: sources, beside the name. */
  readonly sources: ReadonlyMap<string, unknown>;
}

/** @param faults where fields of a wrong type are added */
export function readPod({ metadata, metadataPath, spec, specPath }: PodPart, faults: Violation[]): Pod {
  const meta = new ObjectReader(metadata, metadataPath, faults);
  const pod = new ObjectReader(spec, specPath, faults);
  return {
    path: specPath,
    annotationsPath: meta.pathOf('annotations'),
    annotations: meta.textMap('annotations'),
    os: pod.object('os').text('name'),
    hostUsers: pod.boolean('hostUsers'),
    hostNetwork: pod.boolean('hostNetwork'),
    hostPID: pod.boolean('hostPID'),
    hostIPC: pod.boolean('hostIPC'),
    securityContext: securityContextOf(pod),
    sysctls: pod.object('securityContext').objects('sysctls').map(named),
    volumes: pod.objects('volumes').map(volumeOf),
    containers: ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) =>
      pod.objects(field).map(containerOf),
    ),
  };
}

function named(reader: ObjectReader): Named {
  return { path: reader.path, name: reader.text('name') ?? '' };
}

function containerOf(container: ObjectReader): Container {
  return {
    ...named(container),
    securityContext: securityContextOf(container),
    hostPorts: container.objects('ports').map((port) => ({
      path: port.pathOf('hostPort'),
      port: port.integer('hostPort') ?? 0,
    })),
    hosts: handlersOf(container).flatMap(hostsOf),
  };
}

/** Probes and handlers of the lifecycle. */
function handlersOf(container: ObjectReader): (ObjectReader | undefined)[] {
  const lifecycle = container.optionalObject('lifecycle');
  return [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => container.optionalObject(probe)),
    ...['postStart', 'preStop'].map((event) => lifecycle?.optionalObject(event)),
  ];
}

function hostsOf(handler: ObjectReader | undefined): { path: string; host: string }[] {
  if (handler === undefined) return [];
  return ['httpGet', 'tcpSocket'].map((kind) => {
    const action = handler.object(kind);
    return { path: action.pathOf('host'), host: action.text('host') ?? '' };
  });
}

/** @param holder the pod's spec or a container */
function securityContextOf(holder: ObjectReader): SecurityContext {
  const context = holder.object('securityContext');
  const capabilities = context.optionalObject('capabilities');
  const seLinux = context.optionalObject('seLinuxOptions');
  return {
    path: context.path,
    privileged: context.boolean('privileged'),
    allowPrivilegeEscalation: context.boolean('allowPrivilegeEscalation'),
    runAsNonRoot: context.boolean('runAsNonRoot'),
    runAsUser: context.integer('runAsUser'),
    procMount: context.text('procMount'),
    addedCapabilities: capabilities?.texts('add') ?? [],
    droppedCapabilities: capabilities?.texts('drop') ?? [],
    seccompProfile: profileOf(context, 'seccompProfile'),
    appArmorProfile: profileOf(context, 'appArmorProfile'),
    seLinuxOptions: {
      type: seLinux?.text('type') ?? '',
      user: seLinux?.text('user') ?? '',
      role: seLinux?.text('role') ?? '',
    },
    hostProcess: context.optionalObject('windowsOptions')?.boolean('hostProcess'),
  };
}

function profileOf(context: ObjectReader, field: string): string | undefined {
  const profile = context.optionalObject(field);
  return profile && (profile.text('type') ?? '');
}

function volumeOf(volume: ObjectReader): Volume {
  const sources = new Map(
    Object.entries(volume.fields).filter(([field, value]) => field !== 'name' && value !== null),
  );
  // What the standards allow has to be of the right type; what they forbid is forbidden in any.
  for (const source of ALLOWED_SOURCES) volume.object(source);
  return { ...named(volume), sources };
}
