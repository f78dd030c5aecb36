//! Names what the builds for loom's threads and those for shuttle's have in common: `cfg(modelled)`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if ["CARGO_CFG_LOOM", "CARGO_CFG_SHUTTLE"].iter().any(|checker| std::env::var_os(checker).is_some()) {
        println!("cargo::rustc-cfg=modelled");
    }
}
