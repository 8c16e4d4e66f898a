//! Test clusters, fake peers and recorded vectors
