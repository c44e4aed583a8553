/// Why a run could not be made at all.
package struct ChaosError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
