/// A value that holds a secret and shows nothing of it: neither described, nor interpolated, nor dumped.
package protocol Concealed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Concealed {
    package var description: String {
        "\(Self.self)(concealed)"
    }

    package var debugDescription: String {
        self.description
    }

    package var customMirror: Mirror {
        Mirror(self, children: [])
    }
}
