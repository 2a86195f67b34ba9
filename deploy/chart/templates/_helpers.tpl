{{- define "watchscope.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* `watchscope open` finds the pod by the name alone, so that no value can change it. */}}
{{- define "watchscope.selectorLabels" -}}
app.kubernetes.io/name: watchscope
app.kubernetes.io/instance: {{ quote .Release.Name }}
{{- end }}

{{- define "watchscope.labels" -}}
{{ include "watchscope.selectorLabels" . }}
app.kubernetes.io/version: {{ quote .Chart.AppVersion }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end }}

{{- define "watchscope.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "watchscope.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- /* A quarter more than the files may take: a kubelet evicts a pod that goes over the size of its emptyDir. */}}
{{- define "watchscope.volumeSize" -}}
{{- printf "%dMi" (div (mul (int64 .Values.history.sizeMiB) 5) 4) }}
{{- end }}
