"""What programs in Python do with the package `kubernetes`. Prints what it saw as JSON.

client.py KUBECONFIG NAMESPACE
"""
import json
import sys

from kubernetes import client, config, dynamic, stream, watch

kubeconfig, namespace = sys.argv[1:]
api_client = config.new_client_from_config(config_file=kubeconfig)
core = client.CoreV1Api(api_client)
saw = {}

body = {"metadata": {"name": "by-python", "labels": {"from": "python"}}, "data": {"color": "red"}}
core.create_namespaced_config_map(namespace, body)
found = core.list_namespaced_config_map(namespace, label_selector="from=python")
saw["listed"] = [item.metadata.name for item in found.items]
core.patch_namespaced_config_map("by-python", namespace, {"data": {"color": "blue"}})
core.delete_namespaced_config_map("by-python", namespace)

# A watch: changes after the list.
saw["watched"] = []
watcher = watch.Watch()
for event in watcher.stream(
    core.list_namespaced_config_map,
    namespace,
    label_selector="from=python",
    resource_version=found.metadata.resource_version,
):
    saw["watched"].append(f"{event['type']} {event['object'].data['color']}")
    if event["type"] == "DELETED":
        watcher.stop()

# The dynamic client discovers the server's resources by itself.
config_maps = dynamic.DynamicClient(api_client).resources.get(api_version="v1", kind="ConfigMap")
config_maps.create(namespace=namespace, body={"metadata": {"name": "by-python-too"}})
saw["discovered"] = config_maps.get(namespace=namespace, name="by-python-too").metadata.name

saw["executed"] = stream.stream(
    core.connect_get_namespaced_pod_exec, "web", namespace, command=["echo", "hello"], stdout=True
)

attributes = {"namespace": namespace, "verb": "delete", "resource": "pods"}
review = client.AuthorizationV1Api(api_client).create_self_subject_access_review(
    {"spec": {"resourceAttributes": attributes}}
)
saw["allowed"] = review.status.allowed

try:
    core.list_node()
    saw["refused"] = "nothing"
except client.ApiException as error:
    saw["refused"] = json.loads(error.body)["message"]
print(json.dumps(saw))
