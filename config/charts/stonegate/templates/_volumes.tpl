{{- /*
What is mounted below /run/stonegate: name → volume source. 288 is 0440: readable by the group of fsGroup. Folders, not
single files by subPath, which would not follow a change.
*/ -}}
{{- define "stonegate.volumes" -}}
{{- $name := include "stonegate.fullname" . -}}
{{- $given := .Values.configuration -}}
{{- $tls := .Values.tls -}}
tls:
  secret: { secretName: {{ default (printf "%s-tls" $name) $tls.secretName }}, defaultMode: 288 }
upstream:
{{- if .Values.upstream.existingSecret }}
  secret: { secretName: {{ .Values.upstream.existingSecret }}, defaultMode: 288 }
{{- else }}
  projected:
    defaultMode: 288
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3600 }
      - configMap:
          name: kube-root-ca.crt
          items: [{ key: ca.crt, path: ca.crt }]
{{- end }}
{{- if .Values.redis.enabled }}
redis:
  secret:
    secretName: {{ default (printf "%s-redis" $name) .Values.redis.existingSecret }}
    items: [{ key: {{ .Values.redis.key }}, path: url }]
    defaultMode: 288
sealing:
  secret: { secretName: {{ default (printf "%s-sealing" $name) .Values.sealingKeys.existingSecret }}, defaultMode: 288 }
{{- end }}
{{- if $given.portal }}
portal-tls:
  secret: { secretName: {{ default (printf "%s-portal-tls" $name) $tls.portalSecretName }}, defaultMode: 288 }
{{- end }}
{{- if $given.webhook }}
webhook-tls:
  secret: { secretName: {{ default (printf "%s-webhook-tls" $name) $tls.webhookSecretName }}, defaultMode: 288 }
webhook-client-ca:
  secret: { secretName: {{ default (printf "%s-webhook-client-ca" $name) $tls.webhookClientCASecretName }}, defaultMode: 288 }
{{- end }}
{{- if include "stonegate.provisionerAccount" . }}
provisioner:
  secret: { secretName: {{ $name }}-provisioner-token, defaultMode: 288 }
{{- end }}
{{- range $folder, $source := .Values.files }}
files-{{ $folder }}:
{{- if $source.secret }}
  secret: { secretName: {{ $source.secret }}, defaultMode: 288 }
{{- else }}
  configMap: { name: {{ $source.configMap }}, defaultMode: 288 }
{{- end }}
{{- end }}
{{- end -}}
