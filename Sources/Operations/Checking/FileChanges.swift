/// Notices changes of files from looks at them now and then.
///
/// A change counts when the next look finds the same again: an editor that writes a file in several steps is waited for.
package struct FileChanges: Sendable {
    package typealias Look = [String: FileStamp]

    private var settled: Look
    private var last: Look

    /// `first` is what the files were like when they were read; those that were not there are left out.
    package init(_ first: Look) {
        settled = first
        last = first
    }

    /// The files that changed, came or went and now hold still, sorted by name; none while there are none.
    package mutating func see(_ look: Look) -> [String] {
        defer { last = look }
        guard look == last, look != settled else { return [] }
        let changed = Set(look.keys).union(settled.keys).filter { look[$0] != settled[$0] }.sorted()
        settled = look
        return changed
    }
}
