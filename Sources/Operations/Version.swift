import CBuild

/// The version of Carillon. Packages read it from this file.
package enum Version {
    package static let current = "0.1.0"

    /// The commit of the package; empty in your own builds.
    package static let commit = String(cString: carillon_build_commit())

    /// The version for `--version`.
    package static let described = commit.isEmpty ? current : "\(current) (\(commit))"
}
