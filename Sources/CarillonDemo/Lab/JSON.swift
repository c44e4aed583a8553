import CarillonLab

/// The lab's idea of a JSON value.
typealias JSON = CarillonLab.JSONValue
