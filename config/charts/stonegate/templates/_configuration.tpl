{{- /* The Stonegate configuration: what the operator gave, and the files that the chart mounts wherever nothing was given. */ -}}
{{- define "stonegate.configuration" -}}
{{- $given := .Values.configuration -}}
{{- $_ := required "configuration.tenancy.mode: is required: shared or arktos" (dig "tenancy" "mode" "" $given) -}}
{{- /* An installation without any source of users would never become ready. */ -}}
{{- $_ := required "configuration.authentication: is required" (default "" $given.authentication) -}}
{{- $_ := include "stonegate.admission" . -}}
{{- $_ := include "stonegate.refuseRights" . -}}
{{- if and (not (include "stonegate.given" . | fromJson).runsInCluster) (not .Values.upstream.existingSecret) (not (dig "upstream" "credential" nil $given)) -}}
  {{- fail "upstream.existingSecret: is required in arktos mode, since a service account of this cluster is no user of Arktos" -}}
{{- end -}}
{{- if and (include "stonegate.provisionerAccount" .) (not .Values.rbac.create) -}}
  {{- fail "configuration.bindings.credential: is required with rbac.create false, since a service account of this cluster is none of the API server that Stonegate is in front of" -}}
{{- end -}}
{{- $run := "/run/stonegate" -}}
{{- $defaults := dict
  "apiVersion" "stonegate.dev/v1alpha1"
  "kind" "StonegateConfiguration"
  "server" (dict "tls" (include "stonegate.tlsFiles" (printf "%s/tls" $run) | fromYaml))
  "admin" (dict "bind" "0.0.0.0:9090")
  "upstream" (dict
    "server" "https://kubernetes.default.svc"
    "caFile" (printf "%s/upstream/ca.crt" $run)) -}}
{{- if not (dig "upstream" "credential" nil $given) -}}
  {{- $credential := dict "tokenFile" (printf "%s/upstream/token" $run) -}}
  {{- if .Values.upstream.existingSecret -}}
    {{- $credential = include "stonegate.tlsFiles" (printf "%s/upstream" $run) | fromYaml -}}
  {{- end -}}
  {{- $_ := set $defaults.upstream "credential" $credential -}}
{{- end -}}
{{- if .Values.redis.enabled -}}
  {{- $keys := list -}}
  {{- range .Values.sealingKeys.keys -}}
    {{- $keys = append $keys (dict "fromFile" (printf "%s/sealing/%s" $run .)) -}}
  {{- end -}}
  {{- $_ := set $defaults "cache" (dict "redis" dict "sealingKeys" $keys) -}}
  {{- if not (dig "cache" "redis" "url" nil $given) -}}
    {{- $_ := set $defaults.cache.redis "url" (dict "fromFile" (printf "%s/redis/url" $run)) -}}
  {{- end -}}
{{- end -}}
{{- if $given.portal -}}
  {{- $_ := set $defaults "portal" (dict "tls" (include "stonegate.tlsFiles" (printf "%s/portal-tls" $run) | fromYaml)) -}}
{{- end -}}
{{- if $given.webhook -}}
  {{- $tls := include "stonegate.tlsFiles" (printf "%s/webhook-tls" $run) | fromYaml -}}
  {{- $_ := set $tls "clientCAFile" (printf "%s/webhook-client-ca/ca.crt" $run) -}}
  {{- $_ := set $defaults "webhook" (dict "tls" $tls) -}}
{{- end -}}
{{- if include "stonegate.provisionerAccount" . -}}
  {{- $_ := set $defaults "bindings" (dict "credential" (dict "tokenFile" (printf "%s/provisioner/token" $run))) -}}
{{- end -}}
{{- /* The admission webhook is a process of its own. */ -}}
{{- mergeOverwrite $defaults (omit (deepCopy $given) "admission") | toYaml -}}
{{- end -}}

{{- define "stonegate.tlsFiles" -}}
certFile: {{ . }}/tls.crt
keyFile: {{ . }}/tls.key
{{- end -}}

{{- /* Whether what Stonegate writes has a service account of the chart. */ -}}
{{- define "stonegate.provisionerAccount" -}}
{{- if and (include "stonegate.writes" .) (not (dig "bindings" "credential" nil .Values.configuration)) -}}yes{{- end -}}
{{- end -}}
