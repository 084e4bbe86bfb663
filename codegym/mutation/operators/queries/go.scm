;; arithmetic
((binary_expression left: (_) @left operator: _ @at right: (_) @right)
 (#not-match? @left "[\"`]$") (#not-match? @right "^[\"`]") (#set! one "arithmetic"))

;; augmented_assignment
((assignment_statement operator: _ @at) (#set! one "assignment"))
((inc_statement "++" @at) (#set! other "step"))
((dec_statement "--" @at) (#set! other "step"))

;; boolean
((binary_expression operator: ["&&" "||"] @at) (#set! other "boolean"))

;; comparison
((binary_expression operator: _ @at) (#set! other "comparison"))

;; changed_constant
([(int_literal) (float_literal)] @at (#not-below? @at index_expression slice_expression)
 (#set! number))
([(true) (false)] @at (#set! other "flag"))

;; changed_text
((interpreted_string_literal . (interpreted_string_literal_content) @at .) @string
 (#not-match? @at "%") (#not-in? @at field_declaration) (#not-called? @string "New" "Errorf" "panic" "Fatal" "Error" "Println")
 (#set! text))

;; removed_sign
((unary_expression operator: ["!" "-" "^"] operand: (_) @operand) @at
 (#set! write "@(operand)"))

;; swapped_operands
((binary_expression left: (_) @left operator: ["-" "/" "%" "<" ">" "<=" ">="] @sign
  right: (_) @right) @at
 (#not-eq? @left @right) (#set! write "@(right) @sign @(left)"))

;; dropped_operand
((binary_expression left: (_) @left operator: ["&&" "||"]) @at (#set! write "@(left)"))
((binary_expression operator: ["&&" "||"] right: (_) @right) @at (#set! write "@(right)"))

;; negated_condition
(if_statement condition: [(identifier) (call_expression) (selector_expression)
  (index_expression) (binary_expression operator: ["&&" "||"])] @at
 (#set! write "!@(at)"))
(for_statement [(identifier) (call_expression) (selector_expression)
  (binary_expression operator: ["&&" "||"])] @at
 (#set! write "!@(at)"))

;; swapped_branches
(if_statement consequence: (block) @a alternative: (block) @b @at (#set! swap))

;; loop_control
((break_statement) @at (#eq? @at "break") (#set! loop_control))
((continue_statement) @at (#eq? @at "continue") (#set! loop_control))

;; removed_statement
((expression_statement (call_expression function: (_) @name)) @at
 (#not-match? @name "^(fmt\\.(Fp|P)rint|log\\.|panic|t\\.|print)") (#set! remove))
((assignment_statement) @at (#not-below? @at for_clause if_statement expression_switch_statement)
 (#set! remove))
([(inc_statement) (dec_statement)] @at (#not-below? @at for_clause if_statement)
 (#set! remove))
((send_statement) @at (#not-below? @at communication_case) (#set! remove))

;; removed_guard
((if_statement !initializer consequence: (block (statement_list
   [(return_statement) (break_statement) (continue_statement) (goto_statement)] .))
   !alternative) @at
 (#not-below? @at if_statement) (#set! remove))
((if_statement !initializer consequence: (block (statement_list
   (expression_statement (call_expression function: (identifier) @name)) .)) !alternative) @at
 (#eq? @name "panic") (#not-below? @at if_statement) (#set! remove))

;; removed_wrapper
((if_statement !initializer consequence: (block) @body !alternative) @at
 (#not-below? @at if_statement) (#set! write "@body"))
((for_statement . [(identifier) (call_expression) (binary_expression)] @condition
  body: (block) @body) @at
 (#not-has? @body break_statement continue_statement) (#set! write "if @condition @body"))

;; default_return
(return_statement (expression_list (_) @at) (#set! zero))

;; early_return
(statement_list (for_statement body: (block) @at) . (return_statement) @last .
 (#set! append "@last"))
((assignment_statement left: (expression_list . (identifier) @result .)) @at
 (#not-below? @at for_clause if_statement) (#set! at_once))

;; swapped_arguments
((call_expression function: (_) @name arguments: (argument_list) @at)
 (#not-match? @name "^(make|new|copy|fmt\\.|log\\.)") (#set! arguments))

;; dropped_argument
((call_expression function: (identifier) @name arguments: (argument_list (_) (_) @at .))
 (#any-of? @name "append") (#not-kind? @at variadic_argument) (#set! item))
((call_expression function: (identifier) @name arguments: (argument_list (_) (_) (_) @at .))
 (#any-of? @name "make" "min" "max") (#set! item))

;; off_by_one
(slice_expression start: (_) @at (#set! shift))
(slice_expression end: (_) @at (#set! shift))
((index_expression index: [(int_literal) (binary_expression operator: ["+" "-"]
   right: (int_literal))] @at) (#set! shift))
((binary_expression left: (_) @left operator: ["+" "-"] right: (int_literal) @one) @at
 (#eq? @one "1") (#set! write "@(left)"))
(for_clause initializer: (short_var_declaration right: (expression_list (int_literal) @at))
 (#set! shift))
((binary_expression operator: ["<" "<=" ">" ">="] right: (call_expression
   function: (identifier) @name) @at)
 (#any-of? @name "len" "cap") (#set! write "@at - 1"))

;; removed_call
((call_expression function: (selector_expression) @name arguments: (argument_list . (_) @first))
 @at
 (#any-of? @name "strings.TrimSpace" "strings.ToLower" "strings.ToUpper" "math.Abs" "math.Floor"
  "math.Ceil" "math.Round" "math.Trunc" "filepath.Clean" "path.Clean" "strings.Trim"
  "strings.TrimPrefix" "strings.TrimSuffix" "strings.TrimRight" "strings.TrimLeft"
  "strings.ReplaceAll" "strings.Replace" "html.EscapeString" "url.QueryEscape" "unicode.ToLower"
  "unicode.ToUpper" "bytes.TrimSpace" "slices.Clone" "maps.Clone")
 (#not-below? @at expression_statement) (#set! write "@(first)"))
((call_expression function: (identifier) @name arguments: (argument_list . (_) @first)) @at
 (#any-of? @name "min" "max") (#set! write "@(first)"))

;; removed_copy
((call_expression function: (identifier) @name arguments: (argument_list
   . [(nil) (composite_literal) (type_conversion_expression) (call_expression)]
   . (variadic_argument (_) @inner) .)) @at
 (#eq? @name "append") (#set! write "@(inner)"))

;; dropped_case
((expression_case) @at (#set! erase))
((type_case) @at (#set! erase))
((communication_case) @at (#set! erase))
((default_case) @at (#set! erase))
((if_statement consequence: (_) @after alternative: (block) @at) (#set! cut))
((if_statement alternative: (if_statement !initializer alternative: (_) @rest) @at)
 (#set! write "@rest"))
((fallthrough_statement) @at (#set! remove))

;; exception_handling
((return_statement (expression_list (identifier) @at .)) (#eq? @at "err") (#set! write "nil"))
((if_statement !initializer condition: (binary_expression left: (identifier) @left operator: "!="
   right: (nil)) !alternative) @at
 (#match? @left "^err") (#not-below? @at if_statement) (#set! remove))
((call_expression function: (_) @name arguments: (argument_list
   . (interpreted_string_literal (interpreted_string_literal_content) @at)))
 (#eq? @name "fmt.Errorf") (#match? @at "^[^%]*%w[^%]*$") (#set! exchange "%w %v"))
((call_expression function: (_) @name arguments: (argument_list . (_) @first . (_) @second .)) @at
 (#eq? @name "errors.Is") (#set! write "@(first) == @(second)"))
((expression_statement (call_expression function: (identifier) @name)) @at
 (#eq? @name "panic") (#set! remove))

;; null_handling
((if_statement !initializer condition: (binary_expression operator: "==" right: (nil))
  !alternative) @at
 (#not-below? @at if_statement) (#set! remove))
((if_statement !initializer condition: (binary_expression left: (_) @left operator: "!="
   right: (nil)) consequence: (_) @body !alternative) @at
 (#not-match? @left "^err") (#not-below? @at if_statement) (#set! write "@body"))
((if_statement !initializer condition: (unary_expression operator: "!" operand: (identifier) @name)
  !alternative) @at
 (#any-of? @name "ok" "found" "exists") (#not-below? @at if_statement) (#set! remove))

;; resource_handling
((defer_statement) @at (#set! remove))
((defer_statement (call_expression) @call) @at (#set! write "@call"))
((go_statement (call_expression) @call) @at (#set! write "@call"))
((expression_statement (call_expression function: (selector_expression
   field: (field_identifier) @name))) @at
 (#any-of? @name "Lock" "Unlock" "RLock" "RUnlock" "Wait" "Done" "Add" "Close" "Flush")
 (#set! remove))

;; removed_modifier
((struct_type (field_declaration_list (field_declaration !name) @at)) (#set! erase))

;; reordered_statements
(statement_list (assignment_statement left: (expression_list (_) @set)) @a
  . [(expression_statement) (assignment_statement) (inc_statement) (dec_statement)] @b @at
 (#mentions? @b @set) (#set! swap))
(statement_list [(expression_statement) (inc_statement) (dec_statement)] @a
  . (assignment_statement left: (expression_list (_) @set)) @b @at
 (#mentions? @a @set) (#set! swap))

;; shadowed_variable
((assignment_statement left: (expression_list . (identifier) @name .) operator: "=" @at)
 (#later? @name) (#set! write ":="))
((assignment_statement left: (expression_list . (identifier) @name . (identifier) @other .)
  operator: "=" @at)
 (#later? @name) (#later? @other) (#set! write ":="))

;; value_receiver
(method_declaration receiver: (parameter_list (parameter_declaration
   type: (pointer_type (_) @inner) @at))
 (#set! write "@inner"))

;; narrowed_type
((call_expression function: (identifier) @name arguments: (argument_list . (_) @inner .)) @at
 (#any-of? @name "int64" "int" "uint64" "uint") (#set! write "@name(int32(@inner))"))
((call_expression function: (identifier) @name arguments: (argument_list . (_) @inner .)) @at
 (#eq? @name "float64") (#set! write "float64(float32(@inner))"))

;; wrong_call
((call_expression function: (selector_expression field: (field_identifier) @at))
 (#set! other "call"))
((call_expression function: (identifier) @at) (#set! other "call"))

;; remove_body
((function_declaration body: (_) @at) (#set! stub))
((method_declaration body: (_) @at) (#set! stub))

;; wrong_attribute
(selector_expression operand: (identifier) @owner field: (field_identifier) @field)
(field_declaration name: (field_identifier) @declared type: (_) @type)

;; wrong_variable
(parameter_declaration name: (identifier) @set type: (_) @type)
(short_var_declaration left: (expression_list . (identifier) @set .)
  right: (expression_list . (_) @value))
(short_var_declaration left: (expression_list (identifier) @set))
(range_clause left: (expression_list (identifier) @set))
(var_spec name: (identifier) @set type: (_) @type)
(identifier) @read
