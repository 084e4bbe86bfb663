; What TypeScript writes otherwise than JavaScript.

;; changed_default
(required_parameter value: (number) @at (#set! number))
(required_parameter value: [(true) (false)] @at (#set! other "flag"))
(required_parameter value: (string . (string_fragment) @at .) (#set! text))
(required_parameter value: (null) @at (#set! write "undefined"))
(object_assignment_pattern right: (number) @at (#set! number))
(object_assignment_pattern right: [(true) (false)] @at (#set! other "flag"))
(required_parameter value: [(array) (object)] @at (#set! write "null"))

;; removed_modifier
((class_declaration (class_heritage (extends_clause) @at) body: (_) @body) (#not-has? @body super)
 (#set! erase))
(class_declaration decorator: (decorator) @at (#set! erase))
(class_body (decorator) @at (#set! erase))

;; null_handling
((call_expression "?." @at) (#set! write ""))
((non_null_expression (_) @inner) @at (#below? @at member_expression)
 (#not-target? @at)
 (#set! write "@inner?"))

;; wrong_variable
(required_parameter pattern: (identifier) @set !type !value)
(required_parameter pattern: (identifier) @set !type value: (_) @value)
(required_parameter pattern: (identifier) @set type: (_) @type)
(optional_parameter pattern: (identifier) @set type: (_) @type)
(required_parameter pattern: (rest_pattern (identifier) @set))
(required_parameter pattern: (object_pattern (shorthand_property_identifier_pattern) @set))

;; wrong_attribute
(public_field_definition name: (property_identifier) @declared type: (_) @type)
(public_field_definition name: (property_identifier) @declared !type value: (_) @value)
(required_parameter (accessibility_modifier) pattern: (identifier) @declared type: (_) @type)

;; default_return
(return_statement (_) @at (#set! zero))
