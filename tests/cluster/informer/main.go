// A shared informer of client-go over the configmaps of a namespace. It prints its store after each change.
//
// informer KUBECONFIG NAMESPACE; each line of standard output is the whole store: {"name":"resourceVersion",...}.
// It requests JSON, since the simulated apiserver has no other encoding.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.ContentType = "application/json"
	config.AcceptContentTypes = "application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var writing sync.Mutex
	say := func() {
		writing.Lock()
		defer writing.Unlock()
		belief := map[string]string{}
		for _, item := range informer.GetStore().List() {
			object := item.(*corev1.ConfigMap)
			belief[object.Name] = object.ResourceVersion
		}
		line, _ := json.Marshal(belief)
		fmt.Println(string(line))
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { say() },
		UpdateFunc: func(any, any) { say() },
		DeleteFunc: func(any) { say() },
	})
	if err != nil {
		return err
	}
	factory.Start(nil)
	factory.WaitForCacheSync(nil)
	say()
	select {}
}
