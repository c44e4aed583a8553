/// Everything wrong with a file, so that a person mends it in one go instead of one mistake a run. Never empty when thrown.
package struct Mistakes: Error, Sendable, CustomStringConvertible {
    package let all: [Mistake]

    package init(_ all: [Mistake]) {
        self.all = all
    }

    package var description: String {
        all.map(\.description).joined(separator: "\n")
    }
}
