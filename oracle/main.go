// Starts the real kube-apiserver of the version in go.mod, with etcd in the same process, and waits to be told to stop.
//
// Usage: oracle FOLDER [FLAG]…
//
// FOLDER holds its data and receives a file "kubeconfig" for its administrator once the server is ready. Further flags
// go to kube-apiserver. It listens on 127.0.0.1 and stops on SIGINT and SIGTERM.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// How long etcd and the server may take to come up.
const patience = 60 * time.Second

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: oracle FOLDER [FLAG]…")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(folder string, flags []string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	etcd, err := startEtcd(filepath.Join(folder, "etcd"))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()
	port, err := freePort()
	if err != nil {
		return err
	}
	key := filepath.Join(folder, "sa.key")
	if err := writeKey(key); err != nil {
		return err
	}
	token, err := writeToken(filepath.Join(folder, "tokens.csv"))
	if err != nil {
		return err
	}
	address := fmt.Sprintf("https://127.0.0.1:%d", port)
	go announce(folder, address, token)
	command := app.NewAPIServerCommand()
	command.SetArgs(append([]string{
		"--etcd-servers=" + etcd.Clients[0].Addr().String(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(folder, "certificates"),
		"--token-auth-file=" + filepath.Join(folder, "tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--allow-privileged=true",
	}, flags...))
	return command.Execute()
}

func startEtcd(folder string) (*embed.Etcd, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	clients := url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "error"
	config.ListenClientUrls = []url.URL{clients}
	config.AdvertiseClientUrls = []url.URL{clients}
	config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case <-time.After(patience):
		etcd.Close()
		return nil, errors.New("not ready in time")
	}
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return os.WriteFile(path, text, 0o600)
}

func writeToken(path string) (string, error) {
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	token := hex.EncodeToString(secret)
	return token, os.WriteFile(path, []byte(token+",admin,admin,system:masters\n"), 0o600)
}

// announce writes the kubeconfig when the server says that it is ready.
func announce(folder, address, token string) {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequest("GET", address+"/readyz", nil)
		if err != nil {
			return
		}
		request.Header.Set("Authorization", "Bearer "+token)
		reply, err := client.Do(request)
		if err != nil {
			continue
		}
		reply.Body.Close()
		if reply.StatusCode == http.StatusOK {
			text := fmt.Sprintf(kubeconfig, address, token)
			if err := os.WriteFile(filepath.Join(folder, "kubeconfig"), []byte(text), 0o600); err != nil {
				fmt.Fprintln(os.Stderr, "oracle:", err)
			}
			return
		}
	}
	fmt.Fprintln(os.Stderr, "oracle: the server is not ready in time")
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: oracle
clusters: [{name: oracle, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: oracle, context: {cluster: oracle, user: admin}}]
`
