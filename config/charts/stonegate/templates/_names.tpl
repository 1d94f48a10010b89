{{- define "stonegate.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- /* What selects the pods: it never changes, not even in an upgrade. */ -}}
{{- define "stonegate.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "stonegate.labels" -}}
{{ include "stonegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "stonegate.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "stonegate.serviceAccountName" -}}
{{ default (include "stonegate.fullname" .) .Values.serviceAccount.name }}
{{- end -}}

{{- /* A port of the configuration, from HOST:PORT. Call with a dict of bind (or nil) and default. */ -}}
{{- define "stonegate.port" -}}
{{ last (splitList ":" (default .default .bind)) }}
{{- end -}}

{{- define "stonegate.pod-security" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "stonegate.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- /* A duration of the configuration (1m30s, 250ms) in whole seconds, rounded up. */ -}}
{{- define "stonegate.seconds" -}}
{{- $milliseconds := 0 -}}
{{- $units := dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1 -}}
{{- range regexFindAll "[0-9]+(ms|h|m|s)" . -1 -}}
  {{- $milliseconds = add $milliseconds (mul (regexFind "[0-9]+" . | int) (get $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{ div (add $milliseconds 999) 1000 }}
{{- end -}}
