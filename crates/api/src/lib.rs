//! Types of every custom resource Flotilla serves or reads, and the CRDs generated from them
