//! Questions and answers.

use super::*;
use crate::auth::{
    rbac::Index,
    tests::{issuer, now, state, store, user, yaml},
    token_file::TokenFile,
};

const WORLD: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [pods], resourceNames: [one], verbs: [get]}
- {nonResourceURLs: [/healthz], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: Group, name: readers}]
"#;

struct Rules(Index);

impl Authorizer for Rules {
    fn authorize(&self, who: &Identity, what: &Attributes) -> Decision {
        self.0.decide(who, what)
    }
}

fn rules() -> Rules {
    Rules(Index::default().follow(&state(&yaml(WORLD))))
}

fn shown(result: Result<Value, Status>) -> String {
    match result {
        Ok(review) => review["status"].to_string(),
        Err(status) => format!(
            "{} {}",
            status.code(),
            status.to_value()["message"].as_str().unwrap()
        ),
    }
}

const ALLOWED: &str = r#"{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"readers\" of ClusterRole \"reader\" to Group \"readers\""}"#;

#[test]
fn questions_about_others_are_answered_or_refused() {
    let ask = |mut review: Value| {
        review["kind"] = "SubjectAccessReview".into();
        shown(subject_access(review, &rules()))
    };
    let one = json!({"verb": "get", "resource": "pods", "namespace": "ns", "name": "one"});
    let kind = "422 .authorization.k8s.io \"\" is invalid: ";
    let cases = [
        (
            json!({"spec": {"groups": ["readers"], "resourceAttributes": one}}),
            ALLOWED.to_owned(),
        ),
        (
            json!({"spec": {"groups": ["readers"], "nonResourceAttributes": {"path": "/healthz", "verb": "get"}}}),
            ALLOWED.to_owned(),
        ),
        (
            json!({"spec": {"user": "readers", "resourceAttributes": one}}),
            r#"{"allowed":false}"#.to_owned(),
        ),
        (
            json!({"spec": {"user": "x"}}),
            format!(
                "{kind}spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
            ),
        ),
        (
            json!({"spec": {"resourceAttributes": one}}),
            format!(
                "{kind}spec.user: Invalid value: \"\": at least one of user or group must be specified"
            ),
        ),
        (
            json!({"metadata": {"name": "x"}, "spec": {"user": "x", "resourceAttributes": one}}),
            format!("{kind}metadata: Invalid value: {{\"name\":\"x\"}}: must be empty"),
        ),
    ];
    for (review, expected) in cases {
        assert_eq!(ask(review), expected);
    }
}

#[test]
fn local_questions_stay_in_their_namespace() {
    let ask = |namespace: &str| {
        let review = json!({
            "kind": "LocalSubjectAccessReview", "metadata": {"namespace": "ns"},
            "spec": {"groups": ["readers"], "resourceAttributes":
                {"verb": "get", "resource": "pods", "namespace": namespace, "name": "one"}},
        });
        shown(local_subject_access(review, "ns", &rules()))
    };
    assert_eq!(ask("ns"), ALLOWED);
    assert_eq!(
        ask("other"),
        "422 .authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: \
         Invalid value: \"other\": must match metadata.namespace"
    );
}

#[test]
fn questions_about_oneself_use_the_requester() {
    let review = json!({"kind": "SelfSubjectAccessReview", "spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}});
    let me = user("me", &["readers"]);
    assert_eq!(shown(self_subject_access(review, &me, &rules())), ALLOWED);
    let review = json!({"kind": "SelfSubjectRulesReview", "spec": {"namespace": "ns"}});
    let answer = self_subject_rules(review, |namespace| rules().0.held(&me, namespace));
    assert_eq!(
        shown(answer),
        r#"{"incomplete":false,"nonResourceRules":[{"nonResourceURLs":["/healthz"],"verbs":["get"]}],"resourceRules":[{"apiGroups":[""],"resourceNames":["one"],"resources":["pods"],"verbs":["get"]}]}"#
    );
    let review = json!({"kind": "SelfSubjectRulesReview", "spec": {}});
    assert_eq!(
        shown(self_subject_rules(review, |_| unreachable!("refused"))),
        "400 no namespace on request"
    );
    let answer = self_subject(json!({}), &me);
    assert_eq!(
        answer["status"].to_string(),
        r#"{"userInfo":{"groups":["readers","system:authenticated"],"username":"me"}}"#
    );
}

#[test]
fn tokens_are_told_apart() {
    let file = TokenFile::parse("secret,admin,7,ops").unwrap();
    let tokens = Tokens::new(store(&[]), file, issuer());
    let ask = |spec: Value| shown(token(json!({"spec": spec}), &tokens, now()));
    assert_eq!(
        ask(json!({"token": "secret"})),
        r#"{"audiences":["https://kubernetes.default.svc.cluster.local"],"authenticated":true,"user":{"groups":["ops","system:authenticated"],"uid":"7","username":"admin"}}"#
    );
    assert_eq!(
        ask(json!({"token": "wrong"})),
        r#"{"error":"invalid bearer token","user":{}}"#
    );
    assert_eq!(
        ask(json!({})),
        "400 token is required for TokenReview in authentication"
    );
}
