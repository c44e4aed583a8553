import CBuild

/// Which Carillon this is. Packages take their version from here.
package enum Version {
    package static let current = "0.1.0"

    /// The commit that a package was built from; empty where somebody built it himself.
    package static let commit = String(cString: carillon_build_commit())

    /// As `--version` shows it.
    package static let described = commit.isEmpty ? current : "\(current) (\(commit))"
}
