import Foundation
import Testing

@testable import EventTrace

@Suite struct DeliveryNameTests {
    @Test func aUUIDTakesSixteenBytes() {
        let id = UUID().uuidString.lowercased()
        #expect(DeliveryName.data(id).count == 16)
        #expect(DeliveryName.text(DeliveryName.data(id)) == id)
    }

    /// Anything else must come back as it was, so it is kept as text.
    @Test(arguments: [
        "", "a", "0123456789abcdef0123456789abcdef0123", "01234567-89ab-cdef-0123-456789abcdeF",
        "01234567-89ab-cdef-0123-456789abcde", "01234567-89ab-cdef-0123-456789abcdeg",
        "-1234567-89ab-cdef-0123-456789abcdef", "0123456-789ab-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123--56789abcdef", "01234567-89ab-cdef-0123-456789abcd-f",
        "é1234567-89ab-cdef-0123-456789abcde",
    ])
    func allElseIsKeptAsItIs(_ id: String) {
        #expect(DeliveryName.data(id) == Data(id.utf8))
        #expect(DeliveryName.text(DeliveryName.data(id)) == id)
    }
}
